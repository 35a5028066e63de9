//! Commands on the host: what they are given, what they say, and that nothing of them stays.

use std::time::Duration;

use agentyard_sandbox::{CommandError, EndCause, Event, Limits, Sandbox as _, Stream};

use crate::support::{Place, finish, host, lives, run, until};

/// Leaves a daemon behind that has left its parent, its process group and its session, writes its number to a file,
/// holds the output open and ignores what it can ignore.
const DAEMON: &str = r#"setsid sh -c 'trap "" TERM HUP INT; echo $$ > daemon; exec sleep 1000' & "#;

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let place = Place::new();
    let outcome = run(place.shell("echo out; echo err >&2; exit 3")).await.unwrap();
    assert_eq!(outcome.stdout, b"out\n");
    assert_eq!(outcome.stderr, b"err\n");
    let exit = outcome.exit();
    assert_eq!(
        (exit.code, exit.signal, exit.cause),
        (Some(3), None, EndCause::Itself)
    );
}

#[tokio::test]
async fn a_signal_is_told_apart_from_a_code() {
    let exit = run(Place::new().shell("kill -9 $$")).await.unwrap().exit();
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
}

#[tokio::test]
async fn a_command_sees_what_it_is_given_and_nothing_else() {
    let place = Place::new();
    let mut command = place.command(&["sh", "-c", "env | grep -v ^_= ; pwd; cat; tty"]);
    command.environment.push(("GIVEN".to_owned(), "a b\n".to_owned()));
    command.input = b"read me\n".to_vec();
    let outcome = run(command).await.unwrap();
    let mut lines: Vec<&str> = outcome.stdout().lines().collect();
    lines.sort_unstable();
    let directory = place.path().canonicalize().unwrap();
    let pwd = format!("PWD={}", directory.display());
    let mut expected = vec![
        "",
        "GIVEN=a b",
        "PATH=/usr/bin:/bin",
        "not a tty",
        "read me",
        directory.to_str().unwrap(),
        pwd.as_str(),
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn without_input_there_is_an_end_at_once() {
    assert_eq!(run(Place::new().command(&["cat"])).await.unwrap().stdout, b"");
}

#[tokio::test]
async fn output_comes_while_the_command_runs() {
    let place = Place::new();
    let mut waiting = host()
        .start(place.shell("echo ready; exec sleep 1000"))
        .await
        .unwrap();
    assert_eq!(
        waiting.next().await.unwrap(),
        Event::Output(Stream::Stdout, b"ready\n".to_vec())
    );
    waiting.stop();
    assert_eq!(
        finish(&mut waiting).await.unwrap().exit().cause,
        EndCause::Stopped
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = run(Place::new().command(&["no-such-program"])).await.unwrap_err();
    let CommandError::Start { program, source } = error else {
        panic!("{error}");
    };
    assert_eq!(program, "no-such-program");
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_daemon_does_not_outlive_its_command_nor_hold_it_up() {
    let place = Place::new();
    let script = format!("{DAEMON} until test -s daemon; do sleep 0.01; done; echo done");
    let outcome = run(place.shell(&script)).await.unwrap();
    assert_eq!(outcome.stdout, b"done\n");
    assert_eq!(outcome.exit().code, Some(0));
    assert!(!lives(place.number("daemon")));
}

#[tokio::test]
async fn the_deadline_ends_the_whole_tree() {
    let place = Place::new();
    let script = format!("{DAEMON} until test -s daemon; do sleep 0.01; done; echo $$ > shell; sleep 1000");
    let mut command = place.shell(&script);
    command.limits.duration = Duration::from_millis(500);
    let mut running = host().start(command).await.unwrap();
    let exit = finish(&mut running).await.unwrap().exit();
    assert_eq!((exit.signal, exit.cause), (Some(15), EndCause::Deadline));
    // On a slow machine the time may be up before anything was started.
    for file in ["daemon", "shell"] {
        let number = std::fs::read_to_string(place.path().join(file)).ok();
        assert!(number.is_none_or(|number| !lives(number.trim().parse().unwrap())));
    }
}

#[tokio::test]
async fn who_is_told_to_stop_may_tidy_up() {
    let place = Place::new();
    let script = "trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = host().start(place.shell(script)).await.unwrap();
    assert!(matches!(running.next().await, Ok(Event::Output(..))));
    running.stop();
    let outcome = finish(&mut running).await.unwrap();
    assert_eq!(outcome.stdout, b"tidied\n");
    assert_eq!(
        (outcome.exit().code, outcome.exit().cause),
        (Some(7), EndCause::Stopped)
    );
}

#[tokio::test]
async fn who_is_dropped_ends() {
    let place = Place::new();
    let script = format!("{DAEMON} echo $$ > shell; exec sleep 1000");
    let running = host().start(place.shell(&script)).await.unwrap();
    let numbers = [place.number("daemon"), place.number("shell")];
    assert!(numbers.iter().all(|number| lives(*number)));
    drop(running);
    until(|| numbers.iter().all(|number| !lives(*number)).then_some(()));
}

#[tokio::test]
async fn signals_to_its_own_group_do_not_reach_the_leader() {
    let outcome = run(Place::new().shell("trap '' TERM; kill -TERM 0; echo alive"))
        .await
        .unwrap();
    assert_eq!(outcome.stdout, b"alive\n");
    assert_eq!(outcome.exit().cause, EndCause::Itself);
}

#[tokio::test]
async fn when_the_leader_is_killed_its_session_ends() {
    let place = Place::new();
    let mut running = host()
        .start(place.shell("echo $$ > shell; kill -9 $PPID; exec sleep 1000"))
        .await
        .unwrap();
    let error = finish(&mut running).await.unwrap_err();
    assert!(matches!(error, CommandError::Lost { .. }), "{error}");
    let shell = place.number("shell");
    until(|| (!lives(shell)).then_some(()));
}

#[tokio::test]
async fn too_much_output_ends_the_command() {
    let place = Place::new();
    let mut command = place.command(&["yes"]);
    command.limits = Limits {
        output_bytes: 1 << 20,
        ..command.limits
    };
    let mut running = host().start(command).await.unwrap();
    let outcome = finish(&mut running).await.unwrap();
    assert_eq!(outcome.exit().cause, EndCause::OutputLimit);
    assert!(outcome.stdout.len() > 1 << 20);
}

#[tokio::test]
async fn a_large_request_arrives_whole() {
    let text = "x".repeat(120_000);
    let words: Vec<&str> = ["printf", "%s"].into_iter().chain([text.as_str(); 10]).collect();
    let outcome = run(Place::new().command(&words)).await.unwrap();
    assert_eq!(outcome.stdout.len(), 1_200_000);
}
