//! Commands in a sandbox: what they are given, what they say, and that nothing of them stays.

mod limits;
mod sight;
mod without_root;

use std::os::unix::fs::MetadataExt as _;

use agentyard_sandbox::{
    Bubblewrap, BubblewrapSettings, Command, CommandError, Egress, EgressSettings, Network, SANDBOX_USER,
    Sandbox as _,
};

use crate::support::{Place, bubblewrap, run_in, settings};

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let place = Place::new();
    let command = place.shell("echo out; echo err >&2; exit 3");
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!((outcome.stdout(), outcome.exit().code), ("out\n", Some(3)));
    assert_eq!(outcome.stderr, b"err\n");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = run_in(&bubblewrap(), Place::new().command(&["no-such-program"])).await;
    let Err(CommandError::Start { program, source }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(program, "no-such-program");
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn what_a_command_makes_belongs_to_the_owner_of_the_directory() {
    let place = Place::new();
    let outcome = run_in(
        &bubblewrap(),
        place.shell("id -u; echo made > file; stat -c %u file"),
    )
    .await
    .unwrap();
    let user = SANDBOX_USER.to_string();
    assert_eq!(
        outcome.stdout().lines().collect::<Vec<_>>(),
        [user.as_str(), user.as_str()]
    );
    let made = std::fs::metadata(place.path().join("file")).unwrap();
    assert_eq!(made.uid(), std::fs::metadata(place.path()).unwrap().uid());
}

#[tokio::test]
async fn nothing_is_open_but_what_a_command_was_given() {
    let outcome = run_in(&bubblewrap(), Place::new().command(&["ls", "/proc/self/fd"]))
        .await
        .unwrap();
    // The last is the directory that it lists.
    assert_eq!(outcome.stdout(), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn whoever_may_reach_others_finds_a_proxy() {
    let place = Place::new();
    let sandbox = Bubblewrap::new(BubblewrapSettings {
        egress: Some(Egress::new(EgressSettings::default()).unwrap()),
        ..settings()
    });
    let ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:22 HTTP/1.1\\r\\n\\r\\n' >&3; head -n1 <&3";
    let mut command = place.command(&["bash", "-c", ask]);
    command.network = Network::Registry;
    let outcome = run_in(&sandbox, command).await.unwrap();
    assert!(outcome.stdout().starts_with("HTTP/1.1 403"), "{outcome:?}");
    let refused = run_in(
        &bubblewrap(),
        Command {
            network: Network::Full,
            ..place.shell("true")
        },
    )
    .await;
    assert!(
        matches!(refused, Err(CommandError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn every_wall_stands_when_it_is_tried() {
    let enforcement = bubblewrap().enforcement().await;
    assert_eq!(enforcement.breaches, []);
    assert_eq!(enforcement.weaker, []);
    assert!(
        enforcement
            .holds
            .iter()
            .any(|wall| wall.starts_with("memory, processes: cgroup"))
    );
    assert!(enforcement.holds.len() > 12, "{enforcement:?}");
}

#[tokio::test]
async fn without_bubblewrap_nothing_is_run() {
    let nowhere = tempfile::tempdir().unwrap();
    let sandbox = Bubblewrap::new(BubblewrapSettings {
        search_path: nowhere.path().into(),
        ..settings()
    });
    let error = run_in(&sandbox, Place::new().shell("true")).await.unwrap_err();
    let CommandError::Refused { reason, remedy } = error else {
        panic!("{error}");
    };
    assert!(reason.contains("bwrap") && remedy.contains("install bubblewrap"));
    let enforcement = sandbox.enforcement().await;
    assert_eq!(enforcement.breaches.len(), 1);
    assert_eq!(enforcement.breaches[0].reason, reason);
}
