//! Sandboxes that stay: what only those of this machine do.

mod code;
mod ports;
mod processes;
mod reach;
mod server;
mod signals;
mod terminals;

use std::fs::{self, File};
use std::time::Duration;

use agentyard_envd::{Exchange as _, client, empty};
use agentyard_sandbox::{Access, CopyWay, EndCause, Limits, Mount, Reach, STANDING_HOME, Site, Standing};
use http::{Request, StatusCode};

use crate::sandbox_suite::Plot;
use crate::sandbox_suite::standing::{ran, said, script, started, stood};
use crate::support::{Place, as_somebody, as_somebody_who_mounts, bubblewrap, is_root, until};

fn site(place: &Place) -> Site {
    Site {
        image: None,
        mounts: vec![Mount {
            source: File::open(place.path()).unwrap().into(),
            host_path: place.path().to_owned(),
            at: STANDING_HOME.into(),
            access: Access::ReadWrite,
        }],
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: Duration::from_secs(60),
    }
}

/// A sandbox whose home directory is that place.
async fn stand_up(place: &Place) -> Standing {
    stood(&bubblewrap(), site(place)).await
}

async fn health(standing: &Standing) -> StatusCode {
    let request = Request::get("/health").body(empty()).unwrap();
    standing.exchange(request).await.unwrap().status()
}

#[tokio::test]
async fn a_daemon_answers_until_it_is_taken_down() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    assert_eq!(health(&standing).await, StatusCode::NO_CONTENT);
    standing.take_down().await;
    assert_eq!(standing.ended().await, EndCause::Stopped);
    let request = Request::get("/health").body(empty()).unwrap();
    assert!(standing.exchange(request).await.is_err());
    let refused = standing.freeze().await.unwrap_err();
    assert!(refused.to_string().contains("gone"), "{refused}");
}

/// A program that counts into a file, and others that come and go.
const COUNTING: &str = "(while :; do /bin/true; done) & while :; do echo >> ~/count; done";

/// Whoever is frozen does nothing at all.
async fn freezing_stops_everybody() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (_, _events) = started(&standing, COUNTING).await;
    let count = || fs::metadata(place.path().join("count")).map_or(0, |found| found.len());
    until(|| (count() > 10).then_some(()));
    for _ in 0..3 {
        standing.freeze().await.unwrap();
        let frozen_at = count();
        for _ in 0..2000 {
            assert_eq!(count(), frozen_at, "it counts although it is frozen");
        }
        standing.thaw().await.unwrap();
        until(|| (count() > frozen_at).then_some(()));
    }
    assert_eq!(health(&standing).await, StatusCode::NO_CONTENT);
    standing.freeze().await.unwrap();
    standing.take_down().await;
    assert_eq!(standing.ended().await, EndCause::Stopped);
}

#[tokio::test]
async fn freezing_stops_everybody_by_their_groups() {
    freezing_stops_everybody().await;
}

#[tokio::test]
async fn freezing_stops_everybody_by_signals_where_there_are_no_groups() {
    if is_root() {
        return as_somebody("standing::freezing_stops_everybody_by_signals_where_there_are_no_groups");
    }
    freezing_stops_everybody().await;
}

#[tokio::test]
async fn without_root_a_sandbox_has_grounds_and_a_load_too() {
    if is_root() {
        return as_somebody("standing::without_root_a_sandbox_has_grounds_and_a_load_too");
    }
    let plot = Plot::new();
    assert_eq!(plot.grounds().way(), CopyWay::Copied, "nothing can be mounted");
    let first = stood(&bubblewrap(), plot.site_of("first", None).await).await;
    assert_eq!(
        said(
            &first,
            "echo kept > ~/file; chmod 0 ~/file; chmod 755 ~/file; cat ~/file"
        )
        .await,
        "kept\n"
    );
    let load = first.load().await;
    assert!(load.memory_bytes.unwrap() > 0 && load.cpu.is_some(), "{load:?}");
    first.take_down().await;
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    let second = stood(&bubblewrap(), plot.site_of("second", Some("snap-1")).await).await;
    assert_eq!(said(&second, "cat ~/file").await, "kept\n");
    second.take_down().await;
    plot.grounds().remove("second").await.unwrap();
}

#[tokio::test]
async fn without_root_forks_share_where_this_user_may_mount() {
    if is_root() {
        return as_somebody_who_mounts("standing::without_root_forks_share_where_this_user_may_mount");
    }
    // As the server does: what it starts has no right of its own.
    rustix::thread::clear_ambient_capability_set().unwrap();
    let plot = Plot::new();
    assert_eq!(plot.grounds().way(), CopyWay::Layered);
    let sandbox = bubblewrap();
    let first = stood(&sandbox, plot.site_of("first", None).await).await;
    said(
        &first,
        "mkdir ~/below; echo shared > ~/below/file; head -c 8388608 /dev/zero > ~/large",
    )
    .await;
    first.freeze().await.unwrap();
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    first.take_down().await;
    let a = stood(&sandbox, plot.site_of("a", Some("snap-1")).await).await;
    let b = stood(&sandbox, plot.site_of("b", Some("snap-1")).await).await;
    let change = "rm -r ~/below && mkdir ~/below && echo mine > ~/below/mine && cat ~/below/*";
    assert_eq!(said(&a, change).await, "mine\n");
    assert_eq!(said(&b, "cat ~/below/*").await, "shared\n");
    assert!(
        plot.grounds().size("b").await.unwrap().own < 1 << 20,
        "nothing was copied"
    );
    a.take_down().await;
    plot.grounds().snapshot("a", "snap-2").await.unwrap();
    let c = stood(&sandbox, plot.site_of("c", Some("snap-2")).await).await;
    assert_eq!(
        said(&c, "cat ~/below/*; stat -c %s ~/large").await,
        "mine\n8388608\n"
    );
    for standing in [&b, &c] {
        standing.take_down().await;
    }
    for id in ["first", "a", "b", "c"] {
        plot.grounds().remove(id).await.unwrap();
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(plot.path().to_str().unwrap()), "{mounts}");
}

#[tokio::test]
async fn forks_start_alike_and_go_their_own_ways() {
    let plot = Plot::new();
    let sandbox = bubblewrap();
    let first = stood(&sandbox, plot.site_of("first", None).await).await;
    said(
        &first,
        "mkdir ~/below; echo shared > ~/below/file; echo old > /workspace/file; echo t > /tmp/t",
    )
    .await;
    first.freeze().await.unwrap();
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    first.thaw().await.unwrap();
    let a = stood(&sandbox, plot.site_of("a", Some("snap-1")).await).await;
    let b = stood(&sandbox, plot.site_of("b", Some("snap-1")).await).await;
    let look = "cat ~/below/file /workspace/file /tmp/t";
    assert_eq!(said(&a, look).await, "shared\nold\nt\n");
    let changed = ran(
        &a,
        "mv ~/below ~/moved && rm /workspace/file && echo mine > ~/mine && chmod 700 ~/moved && touch ~/moved/x",
    )
    .await;
    assert_eq!(changed.end.exit_code, 0, "{changed:?}");
    assert_eq!(said(&b, look).await, "shared\nold\nt\n");
    said(&first, "echo new > /workspace/file").await;
    assert_eq!(said(&b, "cat /workspace/file; ls ~").await, "old\nbelow\n");

    // A paused one comes back with its files, on the same layers.
    a.take_down().await;
    let again = stood(&sandbox, plot.site_of("a", None).await).await;
    assert_eq!(
        said(
            &again,
            "cat ~/mine ~/moved/file; ls /workspace; stat -c %U ~/moved"
        )
        .await,
        "mine\nshared\nuser\n"
    );
    again.freeze().await.unwrap();
    plot.grounds().snapshot("a", "snap-2").await.unwrap();
    plot.grounds().remove_snapshot("snap-1").await.unwrap();
    let c = stood(&sandbox, plot.site_of("c", Some("snap-2")).await).await;
    assert_eq!(
        said(&c, "cat ~/mine ~/moved/file; ls ~ /workspace").await,
        "mine\nshared\n/home/user:\nmine\nmoved\n\n/workspace:\n"
    );
    for standing in [&first, &again, &b, &c] {
        standing.take_down().await;
    }
    for id in ["first", "a", "b", "c"] {
        plot.grounds().remove(id).await.unwrap();
    }
    plot.grounds().remove_snapshot("snap-2").await.unwrap();
    assert_eq!(fs::read_dir(plot.path().join("layers")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_sandbox_takes_is_told() {
    let plot = Plot::new();
    let standing = stood(&bubblewrap(), plot.site().await).await;
    let before = standing.load().await;
    said(
        &standing,
        "head -c 8388608 /dev/urandom > ~/file; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
    )
    .await;
    let after = standing.load().await;
    assert!(after.cpu.unwrap() > before.cpu.unwrap(), "{before:?} {after:?}");
    assert!(after.memory_bytes.unwrap() > 0 && after.cache_bytes.is_some());
    // What is on disk is not looked at each time.
    let is_told = async {
        while standing.load().await.disk_bytes.unwrap() < 8 << 20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_told)
        .await
        .unwrap();
    standing.take_down().await;
    assert_eq!(standing.load().await, agentyard_sandbox::Load::default());
}

#[tokio::test]
async fn writing_too_much_ends_a_sandbox_and_is_told() {
    let plot = Plot::new();
    let mut site = plot.site().await;
    site.limits.disk_bytes = 16 << 20;
    let standing = stood(&bubblewrap(), site).await;
    let (_, _events) = started(&standing, "head -c 200000000 /dev/zero > ~/file; sleep 1000").await;
    assert_eq!(standing.ended().await, EndCause::DiskLimit);
}

#[tokio::test]
async fn a_daemon_that_is_killed_from_inside_ends_its_sandbox() {
    let plot = Plot::new();
    let standing = stood(&bubblewrap(), plot.site().await).await;
    // However far that came to be told.
    let _ = client::run(&standing, &script("kill -9 -1"), Duration::from_secs(30), 0).await;
    assert_eq!(standing.ended().await, EndCause::Itself);
}
