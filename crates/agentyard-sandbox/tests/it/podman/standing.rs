//! Sandboxes that stay, in containers: what only these do.

use std::fs;
use std::path::Path;

use agentyard_sandbox::{CommandError, Network, Podman, Reach, Sandbox as _};

use super::yard::{SEARCH_PATH, Yard, settings};
use crate::sandbox_suite::Plot;
use crate::sandbox_suite::standing::{said, started, stood};
use crate::support::{finish, until};
use crate::victims::{self, Victim, with_word};

#[tokio::test]
async fn a_paused_container_stands_still_and_forks_of_it_go_their_own_ways() {
    let (yard, plot) = (Yard::new(), Plot::new());
    let first = stood(yard.podman(), plot.site_of("first", None).await).await;
    let (_, _events) = started(&first, "while :; do echo >> /workspace/count; done").await;
    let file = plot.path().join("sandboxes/first/workspace/count");
    let count = || fs::metadata(&file).map_or(0, |found| found.len());
    until(|| (count() > 10).then_some(()));
    first.freeze().await.unwrap();
    let frozen_at = count();
    for _ in 0..2000 {
        assert_eq!(count(), frozen_at, "it counts although it is paused");
    }
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    first.thaw().await.unwrap();
    until(|| (count() > frozen_at).then_some(()));
    let load = first.load().await;
    assert!(
        load.memory_bytes.unwrap() > 0 && load.cpu.is_some() && load.disk_bytes.unwrap() > 0,
        "{load:?}"
    );
    let second = stood(yard.podman(), plot.site_of("second", Some("snap-1")).await).await;
    let script = "read -r -d '' text < /workspace/count; echo ${#text}; echo mine > ~/mine; cat ~/mine; echo $FROM_IMAGE";
    let seen = said(&second, script).await;
    assert!(seen.ends_with("mine\n1\n"), "{seen}");
    assert_eq!(said(&first, "ls ~").await, "");
    assert_eq!(
        fs::metadata(plot.path().join("layers/snap-1/workspace/count"))
            .unwrap()
            .len(),
        frozen_at
    );
    first.take_down().await;
    second.take_down().await;
    yard.has_no_container().await;
    assert_eq!(yard.stages(), 0);
}

#[tokio::test]
async fn whom_a_container_may_reach_changes_while_it_runs() {
    let (yard, plot) = (Yard::new(), Plot::new());
    let standing = stood(yard.podman(), plot.site().await).await;
    let ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -n1 <&3";
    let first = said(&standing, ask).await;
    assert!(first.starts_with("HTTP/1.1 403"), "{first}");
    let reach = Reach {
        network: Network::Full,
        ..Reach::default()
    };
    standing.set_reach(reach).await.unwrap();
    let then = said(&standing, ask).await;
    assert!(then.starts_with("HTTP/1.1 200"), "{then}");
    standing.take_down().await;
}

#[tokio::test]
async fn an_image_that_cannot_run_our_program_is_named() {
    let (yard, plot) = (Yard::new(), Plot::new());
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("usr/bin")).unwrap();
    yard.pack(root.path(), "localhost/bare:1");
    let mut site = plot.site().await;
    site.image = Some("localhost/bare:1".to_owned());
    let error = yard.podman().stand_up(site).await.unwrap_err();
    let CommandError::Refused { reason, remedy } = error else {
        panic!("{error}");
    };
    assert!(
        reason.contains("localhost/bare:1 cannot run this server's own program"),
        "{reason}"
    );
    assert!(remedy.contains("glibc"), "{remedy}");
    yard.has_no_container().await;
}

/// The server that is killed, with one container that runs and one that is paused.
#[tokio::test]
async fn victim() {
    let told = victims::told();
    let Some((word, directory)) = told.split_once(' ') else {
        return;
    };
    let (podman, plot) = (
        Podman::new(settings(Path::new(directory), SEARCH_PATH)),
        Plot::new(),
    );
    let running = stood(&podman, plot.site_of("running", None).await).await;
    let paused = stood(&podman, plot.site_of("paused", None).await).await;
    let script = format!("trap '' TERM; exec setsid bash -c 'while :; do sleep 100; done' {word}");
    let (_, _of_running) = started(&running, &script).await;
    let (_, _of_paused) = started(&paused, &script).await;
    paused.freeze().await.unwrap();
    victims::wait_for_the_end(plot.path()).await;
}

#[tokio::test]
async fn what_a_server_that_was_killed_leaves_is_removed_by_the_next() {
    let yard = Yard::new();
    let word = format!("victim-podman-{}", std::process::id());
    let told = format!("{word} {}", yard.path().display());
    let (server, directory) = Victim::begin("podman::standing::victim", &told);
    // While a program takes another's place, it has no command line.
    until(|| (with_word(&word) >= 2).then_some(()));
    let number = server.id();
    server.kill();
    let next = yard.another_podman();
    let mut command = next.start(yard.shell("true")).await.unwrap();
    finish(&mut command).await.unwrap();
    yard.has_no_container().await;
    until(|| (with_word(&word) == 0).then_some(()));
    let left = fs::read_dir(yard.path().join("service")).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(&format!("-{number}-")))
        .collect();
    assert!(left.is_empty(), "sockets or mounts of the dead server: {left:?}");
    fs::remove_dir_all(directory).unwrap();
}
