//! A server that is killed takes its sandboxes with it, whatever state they are in.

use std::fs;
use std::path::PathBuf;

use crate::sandbox_suite::Plot;
use crate::sandbox_suite::standing::{started, stood};
use crate::support::{bubblewrap, until};
use crate::victims::{self, Victim, with_word};

/// The server that is killed in these tests. Run as a test, it has nobody at its standard input, and ends.
#[tokio::test]
async fn victim() {
    let told = victims::told();
    let Some((word, state)) = told.split_once(' ') else {
        return;
    };
    let plot = Plot::new();
    let sandbox = bubblewrap();
    let first = stood(&sandbox, plot.site_of("first", None).await).await;
    first.freeze().await.unwrap();
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    let second = stood(&sandbox, plot.site_of("second", Some("snap-1")).await).await;
    let (_, _events) = started(
        &second,
        &format!("trap '' TERM; exec setsid bash -c 'while :; do sleep 100; done' {word}"),
    )
    .await;
    if state == "frozen" {
        second.freeze().await.unwrap();
    }
    victims::wait_for_the_end(plot.path()).await;
}

fn groups_of(server: u32) -> usize {
    let controllers = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let mut all = vec![PathBuf::from("/sys/fs/cgroup")];
    all.extend(controllers.map(|entry| entry.path()));
    let groups = all
        .iter()
        .filter_map(|path| fs::read_dir(path).ok())
        .flatten()
        .flatten();
    let ours = format!("agentyard-{server}-");
    groups
        .filter(|group| group.file_name().to_string_lossy().starts_with(&ours))
        .count()
}

fn dies(state: &str) {
    let word = format!("victim-{state}-{}", std::process::id());
    let (server, directory) = Victim::begin("standing::server::victim", &format!("{word} {state}"));
    // While a program takes another's place, it has no command line.
    until(|| (with_word(&word) > 0).then_some(()));
    let number = server.id();
    server.kill();
    until(|| (with_word(&word) == 0).then_some(()));
    until(|| (groups_of(number) == 0).then_some(()));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(directory.to_str().unwrap()), "{mounts}");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_server_that_is_killed_leaves_nothing_of_sandboxes_that_run() {
    dies("running");
}

#[test]
fn a_server_that_is_killed_leaves_nothing_of_sandboxes_that_are_frozen() {
    dies("frozen");
}
