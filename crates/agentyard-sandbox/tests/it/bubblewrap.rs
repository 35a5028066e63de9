//! Commands in a sandbox: what they are given, what they say, and that nothing of them stays.

use std::os::unix::fs::MetadataExt as _;

use agentyard_sandbox::{CommandError, SANDBOX_USER};

use crate::support::{Place, bubblewrap, run_in};

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
