//! What a command finds in every sandbox.

use std::fs;
use std::io;
use std::time::Duration;

use agentyard_sandbox::{Access, CommandError, EndCause, Event, Sandbox};

use super::place::{Place, finish, lives, run, shell, unique, until};

/// Exit code, standard output and standard error come back, each by itself.
pub async fn tells_how_it_ended_and_what_it_said(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let ended = run(sandbox, shell(&place, "echo out; echo err >&2; exit 3")).await;
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
    let exit = ended.exit;
    assert_eq!(
        (exit.code, exit.signal, exit.cause),
        (Some(3), None, EndCause::Itself)
    );
    let ended = run(sandbox, shell(&place, "seq 0 19999")).await;
    assert_eq!(ended.stdout.lines().count(), 20_000, "all of it comes");
    assert_eq!(ended.exit.code, Some(0));
}

/// A signal that ends a command is told, as itself or as shells tell it.
pub async fn tells_signals_from_codes(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let exit = run(sandbox, shell(&place, "kill -9 $$")).await.exit;
    assert_eq!(exit.cause, EndCause::Itself);
    let told = (exit.code, exit.signal);
    assert!(
        told == (None, Some(9)) || told == (Some(128 + 9), None),
        "{told:?}"
    );
}

/// Standard input is what was given, and nothing where nothing was.
pub async fn reads_its_input(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let mut command = place.command(&["cat"]);
    command.input = vec![b'x'; 300_000];
    assert_eq!(run(sandbox, command).await.stdout.len(), 300_000);
    let command = place.command(&["cat"]);
    assert_eq!(run(sandbox, command).await.stdout, "");
}

/// What was given is there, and nothing of the server's own environment is.
pub async fn has_the_environment_that_it_was_given(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let mut command = place.command(&["env"]);
    command.environment.push(("GIVEN".to_owned(), "a b".to_owned()));
    let ended = run(sandbox, command).await;
    assert!(ended.stdout.lines().any(|line| line == "GIVEN=a b"), "{ended:?}");
    // Whoever runs tests sets these.
    let of_server = ["CARGO", "NEXTEST", "RUST"];
    let mut lines = ended.stdout.lines();
    assert!(
        !lines.any(|line| of_server.iter().any(|name| line.starts_with(name))),
        "{ended:?}"
    );
}

/// A command starts in the directory that it is told, in its mounts.
pub async fn starts_where_it_is_told(sandbox: &dyn Sandbox) {
    let place = Place::new();
    fs::create_dir(place.path().join("below")).expect("a directory");
    fs::write(place.path().join("below/file"), "here\n").expect("a file");
    let mut command = place.command(&["cat", "file"]);
    command.directory.push("below");
    assert_eq!(run(sandbox, command).await.stdout, "here\n");
}

/// What is in a command's directories is seen, and what it changes there is changed when it has ended.
pub async fn sees_its_directories_and_writes_to_them(sandbox: &dyn Sandbox) {
    let place = Place::new();
    fs::write(place.path().join("given"), "given\n").expect("a file");
    fs::write(place.path().join("changed"), "before\n").expect("a file");
    let script = "cat given; echo after > changed; echo made > made";
    let ended = run(sandbox, shell(&place, script)).await;
    assert_eq!(
        (ended.stdout.as_str(), ended.exit.code),
        ("given\n", Some(0)),
        "{ended:?}"
    );
    let read = |name: &str| fs::read_to_string(place.path().join(name)).expect("a file");
    assert_eq!(
        (read("changed").as_str(), read("made").as_str()),
        ("after\n", "made\n")
    );
}

/// A directory that is only to be looked at is not changed.
pub async fn cannot_write_where_it_may_only_look(sandbox: &dyn Sandbox) {
    let (place, extra) = (Place::new(), Place::new());
    fs::write(extra.path().join("file"), "as it was\n").expect("a file");
    let mount = extra.mount("/extra", Access::ReadOnly);
    let inside = sandbox.path_inside(&mount).display().to_string();
    let script = format!("cat {inside}/file; echo x > {inside}/file; echo x > {inside}/new");
    let mut command = shell(&place, &script);
    command.mounts.push(mount);
    let ended = run(sandbox, command).await;
    assert_eq!(ended.stdout, "as it was\n");
    let file = fs::read_to_string(extra.path().join("file")).expect("a file");
    assert_eq!(file, "as it was\n");
    assert!(!extra.path().join("new").exists());
}

/// Time that is up ends a command.
pub async fn ends_when_its_time_is_up(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let mut command = place.command(&["sleep", "1000"]);
    command.limits.duration = Duration::from_secs(1);
    assert_eq!(run(sandbox, command).await.exit.cause, EndCause::Deadline);
}

/// So does the word to stop.
pub async fn ends_when_it_is_stopped(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let command = shell(&place, "echo ready; sleep 1000");
    let mut running = sandbox.start(command).await.expect("it was started");
    let first = running.next().await.expect("it says something");
    assert!(matches!(first, Event::Output(..)), "{first:?}");
    running.stop();
    let ended = finish(&mut running).await.expect("it has ended");
    assert_eq!(ended.exit.cause, EndCause::Stopped);
}

/// So does saying too much.
pub async fn ends_when_it_says_too_much(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let mut command = place.command(&["yes"]);
    command.limits.output_bytes = 100_000;
    assert_eq!(run(sandbox, command).await.exit.cause, EndCause::OutputLimit);
}

/// A program that is not there is named.
pub async fn is_named_when_it_is_not_there(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let command = place.command(&["no-such-program"]);
    let error = match sandbox.start(command).await {
        Ok(mut running) => finish(&mut running).await.expect_err("there is no such program"),
        Err(error) => error,
    };
    let CommandError::Start { program, source } = error else {
        panic!("{error}");
    };
    assert_eq!(
        (program.as_str(), source.kind()),
        ("no-such-program", io::ErrorKind::NotFound)
    );
}

/// What a command has started and left behind ends with it.
pub async fn leaves_nobody_behind(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let word = unique();
    let script = format!("setsid sh -c 'sleep 1000; :' {word} > /dev/null 2>&1 & echo left");
    let ended = run(sandbox, shell(&place, &script)).await;
    assert_eq!(
        (ended.stdout.as_str(), ended.exit.cause),
        ("left\n", EndCause::Itself)
    );
    until("nobody is left", || !lives(&word)).await;
}

/// Without a network nobody is reached, not even this machine.
pub async fn reaches_nobody_without_a_network(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo alone");
    let ended = run(sandbox, place.command(&["bash", "-c", &script])).await;
    assert_eq!(ended.stdout, "alone\n");
}

/// Nobody inside is root.
pub async fn is_not_root(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let ended = run(sandbox, place.command(&["id", "-u"])).await;
    let user: u32 = ended.stdout.trim().parse().expect("a number");
    assert_ne!(user, 0);
}

/// A process does not get more memory than the command may have.
pub async fn cannot_have_more_memory_than_it_may(sandbox: &dyn Sandbox) {
    let place = Place::new();
    // It keeps as much as it is to tell in the end.
    let script = "head -c 320M /dev/zero | tail -c 256M > /dev/null && echo fits";
    assert_eq!(run(sandbox, shell(&place, script)).await.stdout, "fits\n");
    let mut command = shell(&place, script);
    command.limits.memory_bytes = 128 * 1024 * 1024;
    assert_eq!(run(sandbox, command).await.stdout, "");
}

/// Nor more processes.
pub async fn cannot_have_more_processes_than_it_may(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let script = "for i in $(seq 80); do sleep 1000 & done; echo all";
    assert_eq!(run(sandbox, shell(&place, script)).await.stdout, "all\n");
    let mut command = shell(&place, script);
    command.limits.processes = 40;
    assert_eq!(run(sandbox, command).await.stdout, "");
}

/// Nor longer files.
pub async fn cannot_have_longer_files_than_it_may(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let script = "head -c 2097152 /dev/zero > file && echo fits";
    assert_eq!(run(sandbox, shell(&place, script)).await.stdout, "fits\n");
    let mut command = shell(&place, script);
    command.limits.file_bytes = 1024 * 1024;
    assert_eq!(run(sandbox, command).await.stdout, "");
}

/// Nor more open files.
pub async fn cannot_have_more_open_files_than_it_may(sandbox: &dyn Sandbox) {
    let place = Place::new();
    let mut command = shell(&place, "ulimit -n");
    command.limits.open_files = 128;
    assert_eq!(run(sandbox, command).await.stdout, "128\n");
}
