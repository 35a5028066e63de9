use std::fs;
use std::path::Path;

use super::*;

/// Grounds where nothing can be mounted and no blocks are shared.
fn without_layers(directory: &Path) -> Grounds {
    let layout = Layout::open(directory.to_owned(), None).unwrap();
    Grounds::with_way(layout, CopyWay::Copied).unwrap()
}

#[tokio::test]
async fn without_layers_sandboxes_have_copies_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let grounds = without_layers(place.path());
    assert_eq!(grounds.way(), CopyWay::Copied);
    let mounts = grounds.prepare("first", None).await.unwrap();
    let file = |id: &str| place.path().join("sandboxes").join(id).join("home/file");
    fs::write(file("first"), "as it was").unwrap();
    grounds.snapshot("first", "snap-1").await.unwrap();
    fs::write(file("first"), "changed").unwrap();
    let copied = grounds.prepare("second", Some("snap-1")).await.unwrap();
    assert_eq!(fs::read_to_string(file("second")).unwrap(), "as it was");
    assert_eq!(copied.len(), mounts.len());
    // What it stands on is its own, so nothing keeps the snapshot.
    grounds.remove_snapshot("snap-1").await.unwrap();
    assert!(!place.path().join("layers/snap-1").exists());
    grounds.snapshot("second", "snap-2").await.unwrap();
    let third = grounds.prepare("third", Some("snap-2")).await.unwrap();
    assert_eq!(fs::read_to_string(file("third")).unwrap(), "as it was");
    drop(third);
    for id in ["first", "second", "third"] {
        grounds.remove(id).await.unwrap();
    }
    grounds.remove_snapshot("snap-2").await.unwrap();
    assert!(grounds.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_record_that_cannot_be_read_costs_nobody_else_anything() {
    let place = tempfile::tempdir().unwrap();
    let grounds = Grounds::open(place.path().to_owned(), None).unwrap();
    grounds.prepare("first", None).await.unwrap();
    grounds.snapshot("first", "snap-1").await.unwrap();
    drop(grounds.prepare("second", Some("snap-1")).await.unwrap());
    fs::write(place.path().join("sandboxes/second/record.json"), "").unwrap();
    let grounds = Grounds::open(place.path().to_owned(), None).unwrap();
    assert!(grounds.prepare("second", None).await.is_err());
    grounds.remove_snapshot("snap-1").await.unwrap();
    // The broken one may stand on it.
    assert!(place.path().join("layers/snap-1").exists());
    grounds.prepare("first", None).await.unwrap();
    grounds.remove("second").await.unwrap();
    assert!(!place.path().join("layers/snap-1").exists());
}

#[tokio::test]
async fn layers_are_kept_while_they_are_claimed() {
    let place = tempfile::tempdir().unwrap();
    let grounds = Grounds::open(place.path().to_owned(), None).unwrap();
    fs::create_dir(place.path().join("layers/claimed")).unwrap();
    let claim = || grounds.0.claim(|| Ok(vec!["claimed".to_owned()])).unwrap();
    let (first, second) = (claim(), claim());
    for held in [first, second] {
        grounds.remove("nobody").await.unwrap();
        assert!(place.path().join("layers/claimed").exists());
        drop(held);
    }
    grounds.remove("nobody").await.unwrap();
    assert!(!place.path().join("layers/claimed").exists());
}

#[tokio::test]
async fn what_was_kept_in_layers_can_be_used_where_everything_is_copied() {
    let place = tempfile::tempdir().unwrap();
    let layered = Grounds::open(place.path().to_owned(), None).unwrap();
    for (id, from) in [("first", None), ("second", Some("first-snap"))] {
        let mounts = layered.prepare(id, from).await.unwrap();
        let home = rustix::fs::openat(
            &mounts[0].source,
            id,
            rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY,
            rustix::fs::Mode::RWXU,
        );
        home.unwrap();
        layered.snapshot(id, &format!("{id}-snap")).await.unwrap();
    }
    let copying = without_layers(place.path());
    copying.prepare("third", Some("second-snap")).await.unwrap();
    let home = place.path().join("sandboxes/third/home");
    assert!(home.join("first").exists() && home.join("second").exists());
}
