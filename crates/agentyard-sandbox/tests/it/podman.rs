//! Commands in containers. The image is made of programs of this machine; podman's storage goes with the test.

mod standing;
pub(crate) mod yard;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use agentyard_sandbox::{Access, CommandError, EndCause, Event, Network, Sandbox as _, Stream};

use crate::support::{finish, lives, until};
use yard::{USER, Yard, mount};

#[tokio::test]
async fn what_a_command_says_and_how_it_ends_comes_back() {
    let yard = Yard::new();
    let outcome = yard.run("echo out; echo err >&2; exit 3").await.unwrap();
    assert_eq!(
        (outcome.stdout.as_slice(), outcome.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    let exit = outcome.exit();
    assert_eq!(
        (exit.code, exit.signal, exit.cause),
        (Some(3), None, EndCause::Itself)
    );

    let exit = yard.run("kill -9 $$").await.unwrap().exit();
    assert_eq!(
        (exit.code, exit.signal, exit.cause),
        (None, Some(9), EndCause::Itself)
    );

    let mut command = yard.command(&["cat"]);
    command.input = vec![b'x'; 1_000_000];
    assert_eq!(yard.finish(command).await.unwrap().stdout.len(), 1_000_000);

    assert_eq!(yard.finish(yard.command(&["cat"])).await.unwrap().stdout, b"");

    let words: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    let outcome = yard.run("seq 0 19999").await.unwrap();
    assert_eq!(outcome.stdout().lines().collect::<Vec<_>>(), words);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let yard = Yard::new();
    for (program, expected) in [
        ("no-such-program", std::io::ErrorKind::NotFound),
        ("/no/such", std::io::ErrorKind::NotFound),
        ("./plain", std::io::ErrorKind::PermissionDenied),
    ] {
        fs::write(yard.workspace().join("plain"), "").unwrap();
        let error = yard.finish(yard.command(&[program])).await.unwrap_err();
        let CommandError::Start {
            program: named,
            source,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((named.as_str(), source.kind()), (program, expected));
    }
}

#[tokio::test]
async fn a_command_sees_its_mounts_and_the_image_and_nothing_of_the_host() {
    let yard = Yard::new();
    let workspace = yard.workspace();
    fs::create_dir(workspace.join(".git")).unwrap();
    fs::write(workspace.join(".git/config"), "secret").unwrap();
    let extra = tempfile::tempdir().unwrap();
    fs::write(extra.path().join("file"), "read me\n").unwrap();
    let mut command = yard.shell(
        "cat /extra/file; ls -A /workspace/.git; echo new > made; id -u; pwd; echo t > /tmp/t && cat /tmp/t
         (echo x > /extra/x) 2>/dev/null || echo read-only; (echo x > /usr/x) 2>/dev/null || echo read-only; ls -d /root /var/lib",
    );
    command
        .mounts
        .push(mount(extra.path(), "/extra", Access::ReadOnly));
    command.hidden.push("/workspace/.git".into());
    command.hidden.push("/workspace/absent".into());
    let outcome = yard.finish(command).await.unwrap();
    assert_eq!(
        outcome.stdout(),
        format!("read me\n{USER}\n/workspace\nt\nread-only\nread-only\n")
    );
    assert_eq!(fs::metadata(workspace.join("made")).unwrap().uid(), USER);
    assert!(!workspace.join("absent").exists());

    let mut command = yard.command(&["env"]);
    command.environment = vec![
        ("PATH".to_owned(), "/workspace/bin:/host/bin".to_owned()),
        ("GIVEN".to_owned(), "a b".to_owned()),
    ];
    let outcome = yard.finish(command).await.unwrap();
    let seen: BTreeSet<&str> = outcome.stdout().lines().collect();
    // What podman itself sets tells nothing about the host.
    let own = ["HOME=", "HOSTNAME=sandbox", "container=", "TERM="];
    let seen: Vec<&str> = seen
        .into_iter()
        .filter(|line| !own.iter().any(|own| line.starts_with(own)))
        .collect();
    assert_eq!(
        seen,
        ["FROM_IMAGE=1", "GIVEN=a b", "PATH=/workspace/bin:/usr/bin:/bin"]
    );
}

#[tokio::test]
async fn the_walls_hold() {
    let yard = Yard::new();
    let script = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
                  unshare -U true 2>&1; unshare -r true 2>&1
                  grep -c : /proc/net/dev; ls /proc | grep -cx '[0-9]*'; exec 3<>/dev/tcp/127.0.0.1/3128";
    let outcome = yard.finish(yard.command(&["bash", "-c", script])).await.unwrap();
    let lines: Vec<String> = outcome
        .stdout()
        .lines()
        .map(|line| line.replace('\t', " "))
        .collect();
    let none = "0000000000000000";
    assert_eq!(
        lines[..4],
        [
            format!("CapEff: {none}"),
            format!("CapBnd: {none}"),
            "NoNewPrivs: 1".to_owned(),
            "Seccomp: 2".to_owned()
        ]
    );
    assert!(
        lines[4].contains("not implemented") && lines[5].contains("not implemented"),
        "{lines:?}"
    );
    assert_eq!(lines[6], "1", "only loopback");
    assert!(lines[7].parse::<u32>().unwrap() <= 5, "{lines:?}");
    assert!(outcome.exit().code != Some(0) && !outcome.stderr.is_empty());
}

#[tokio::test]
async fn limits_end_a_command_or_hold_it() {
    let yard = Yard::new();
    let mut command = yard.shell("head -c 300000000 /dev/zero | tail -c 299999999 | cat > /dev/null");
    command.program = "bash".to_owned();
    command.arguments[0] = "-c".to_owned();
    command.arguments[1].insert_str(0, "set -o pipefail; ");
    command.limits.memory_bytes = 64 << 20;
    let exit = yard.finish(command).await.unwrap().exit();
    assert_eq!(exit.cause, EndCause::MemoryLimit, "{exit:?}");
    assert!(
        exit.usage
            .peak_memory_bytes
            .is_some_and(|bytes| bytes <= 64 << 20),
        "{exit:?}"
    );

    let mut command = yard.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; echo survived");
    command.limits.processes = 8;
    let outcome = yard.finish(command).await.unwrap();
    assert!(!outcome.stdout().contains("survived"), "{}", outcome.stdout());

    let mut command = yard.command(&["yes"]);
    command.limits.output_bytes = 1 << 20;
    let outcome = yard.finish(command).await.unwrap();
    assert_eq!(outcome.exit().cause, EndCause::OutputLimit);
    assert!(outcome.stdout.len() > 1 << 20);

    let mut command =
        yard.shell("trap '' TERM; head -c 3000000 /dev/zero > big; ulimit -n; ulimit -c; sleep 1000");
    command.limits.file_bytes = 1_000_000;
    command.limits.open_files = 77;
    command.limits.duration = Duration::from_millis(1500);
    let outcome = yard.finish(command).await.unwrap();
    assert_eq!(outcome.stdout(), "77\n0\n");
    assert_eq!(
        fs::metadata(yard.workspace().join("big")).unwrap().len(),
        1_000_000
    );
    assert_eq!(
        (outcome.exit().signal, outcome.exit().cause),
        (Some(9), EndCause::Deadline)
    );
}

#[tokio::test]
async fn who_is_told_to_stop_may_tidy_up_and_nothing_is_left() {
    let yard = Yard::new();
    let script =
        "setsid sleep 54321 & trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = yard.podman().start(yard.shell(script)).await.unwrap();
    assert_eq!(
        running.next().await.unwrap(),
        Event::Output(Stream::Stdout, b"ready\n".to_vec())
    );
    let number = until(|| process_with("54321"));
    running.stop();
    let outcome = finish(&mut running).await.unwrap();
    assert_eq!(outcome.stdout, b"tidied\n");
    assert_eq!(
        (outcome.exit().code, outcome.exit().cause),
        (Some(7), EndCause::Stopped)
    );
    assert!(!lives(number));
    yard.has_no_container().await;
}

#[tokio::test]
async fn who_is_dropped_ends_and_nothing_is_left() {
    let yard = Yard::new();
    let mut running = yard
        .podman()
        .start(yard.shell("echo ready; exec sleep 65432"))
        .await
        .unwrap();
    assert!(matches!(running.next().await, Ok(Event::Output(..))));
    let number = until(|| process_with("65432"));
    drop(running);
    until(|| (!lives(number)).then_some(()));
    yard.has_no_container().await;
}

#[tokio::test]
async fn registries_are_reached_through_the_proxy_only() {
    let yard = Yard::new();
    let script = r#"for host in pypi.org evil.example; do
        exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT $host:443 HTTP/1.1\r\n\r\n" >&3; read -r status <&3; echo "$status"; exec 3>&-
        done; echo $HTTPS_PROXY"#;
    let mut command = yard.command(&["bash", "-c", script]);
    command.network = Network::Registry;
    let mut running = yard.podman().start(command).await.unwrap();
    let outcome = finish(&mut running).await.unwrap();
    assert_eq!(running.denied()[0].destination, "evil.example:443");
    let lines: Vec<&str> = outcome.stdout().lines().collect();
    assert!(lines[0].starts_with("HTTP/1.1 200 "), "{lines:?}");
    assert!(
        lines[1].starts_with("HTTP/1.1 403 evil.example:443 was refused"),
        "{lines:?}"
    );
    assert_eq!(lines[2], "http://127.0.0.1:3128");
}

#[tokio::test]
async fn an_image_is_set_up_once() {
    let yard = Yard::new();
    let setup = [
        "id -u > /made",
        "chown 7:7 /made; cat /proc/self/uid_map >> /made",
    ]
    .map(str::to_owned);
    let podman = yard.podman_with(setup.to_vec());
    let script = || yard.command(&["bash", "-c", "cat /made; ls -n /made; echo $HTTPS_PROXY"]);
    let (first, second) = tokio::join!(
        async { finish(&mut podman.start(script()).await?).await },
        async { finish(&mut podman.start(script()).await?).await },
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    let words: Vec<&str> = first.stdout().split_whitespace().collect();
    assert_eq!(
        words[..4],
        ["0", "0", "268435456", "65536"],
        "root among users of its own"
    );
    assert_eq!(words[6..8], ["7", "7"], "{words:?}");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(yard.images().len(), 2);

    let podman = yard.podman_with(vec!["echo broken; exit 4".to_owned()]);
    let error = podman.start(script()).await.unwrap_err();
    let CommandError::Refused { reason, .. } = error else {
        panic!("{error}");
    };
    assert!(reason.contains("broken"), "{reason}");
    assert_eq!(yard.images().len(), 2);
    yard.has_no_container().await;
}

#[tokio::test]
async fn a_directory_is_taken_by_descriptor_and_shown_as_the_users_own() {
    let yard = Yard::new();
    let owned = tempfile::tempdir().unwrap();
    fs::write(owned.path().join("file"), "old").unwrap();
    let mut command = yard.shell("echo new > file; echo more > other; ls -n | grep -c ' 61184 61184 '");
    command.mounts = vec![mount(owned.path(), "/workspace", Access::ReadWrite)];
    // Where it was is another's by now.
    command.mounts[0].host_path = yard.other_workspace();
    let outcome = yard.finish(command).await.unwrap();
    assert_eq!(
        outcome.stdout(),
        "2\n",
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    for file in ["file", "other"] {
        assert_eq!(fs::metadata(owned.path().join(file)).unwrap().uid(), 0);
    }
    assert_eq!(fs::read_to_string(owned.path().join("file")).unwrap(), "new\n");
    assert_eq!(fs::read_dir(yard.other_workspace()).unwrap().count(), 0);
    assert_eq!(yard.stages(), 0);
}

#[tokio::test]
async fn what_must_not_be_run_is_not() {
    let yard = Yard::new();
    let absent = yard.podman_of("localhost/absent:1");
    let error = absent.start(yard.shell("true")).await.unwrap_err();
    assert!(
        matches!(&error, CommandError::Refused { reason, .. } if reason.contains("localhost/absent:1")),
        "{error:?}"
    );
    yard.has_no_container().await;
}

#[tokio::test]
async fn without_podman_nothing_is_run_and_the_reason_is_told() {
    let place = tempfile::tempdir().unwrap();
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink("/usr/bin/unshare", programs.join("unshare")).unwrap();
    let settings = yard::settings(place.path(), programs.to_str().unwrap());
    let podman = agentyard_sandbox::Podman::new(settings);
    let breaches = podman.enforcement().await.breaches;
    assert!(
        breaches[0].reason.contains("podman: No such file"),
        "{breaches:?}"
    );
}

#[tokio::test]
async fn containers_of_servers_that_are_gone_are_removed() {
    let yard = Yard::new();
    let namespace = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    for (name, server) in [
        ("gone", format!("{namespace}-{}-1-1", std::process::id())),
        ("foreign", "1-1-1-1".to_owned()),
    ] {
        yard.cli(&[
            "create",
            "--name",
            name,
            "--label",
            &format!("agentyard.server={server}"),
            "localhost/tiny:1",
        ]);
    }
    yard.run("true").await.unwrap();
    yard.has_containers(&["foreign"]).await;
}

#[test]
fn containers_end_with_the_service_and_the_next_one_tidies_up() {
    let yard = Yard::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let mut running = first
        .block_on(yard.podman().start(yard.shell("echo ready; exec sleep 76543")))
        .unwrap();
    assert!(matches!(first.block_on(running.next()), Ok(Event::Output(..))));
    let number = until(|| process_with("76543"));
    // As when the server is killed: nobody says goodbye to anybody.
    std::mem::forget(running);
    first.shutdown_background();
    until(|| (!lives(number)).then_some(()));
    let next = yard.another_podman();
    runtime().block_on(async {
        let mut running = next.start(yard.shell("true")).await.unwrap();
        finish(&mut running).await.unwrap();
        yard.has_no_container().await;
    });
}

/// The number of a process that has this word among its arguments.
fn process_with(word: &str) -> Option<u32> {
    fs::read_dir("/proc").unwrap().find_map(|entry| {
        let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        (words.first() == Some(&&b"sleep"[..]) && words.contains(&word.as_bytes())).then_some(number)
    })
}
