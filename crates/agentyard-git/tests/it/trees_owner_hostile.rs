//! However somebody arranges what is theirs, nothing else is given to them.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::Error;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{GO_ON, command};
use crate::trees_owner::{hand_over, is_somebodys, orchard, owner};
use crate::trees_support::KEY;

#[test]
fn nothing_outside_of_the_view_is_given_away() {
    let orchard = orchard();
    let outside = orchard.yard.outside();
    fs::create_dir(outside.join("directory")).unwrap();
    fs::write(outside.join("directory/file"), "root's\n").unwrap();
    let view = orchard.view("topic");
    let other = orchard.view("other");
    fs::write(other.path.join("README"), "root's\n").unwrap();
    fs::write(other.path.join("new"), "root's\n").unwrap();

    symlink(outside.join("directory"), view.path.join("to-a-directory")).unwrap();
    symlink(outside.join("directory/file"), view.path.join("to-a-file")).unwrap();
    symlink(&other.path, view.path.join("src/to-another-view")).unwrap();
    fs::create_dir(view.path.join("mounted")).unwrap();
    let bound = command("mount")
        .arg("--bind")
        .arg(outside.join("directory"))
        .arg(view.path.join("mounted"))
        .status();
    assert!(bound.unwrap().success());
    // Its second name must not make `.git` somebody's.
    fs::hard_link(view.path.join(".git"), view.path.join("src/git")).unwrap();
    // What is named so elsewhere is nothing special.
    fs::write(view.path.join("docs/.git"), "not read\n").unwrap();
    // Hidden, without a whiteout being touched.
    fs::remove_file(view.path.join("docs/one")).unwrap();

    // The three links and the file: what is mounted hides a directory, which waits until it is seen.
    assert_eq!(hand_over(&orchard), 4);
    for link in ["to-a-directory", "to-a-file", "src/to-another-view", "docs/.git"] {
        assert!(is_somebodys(view.path.join(link)), "{link}");
    }
    for path in [
        outside.join("directory"),
        outside.join("directory/file"),
        view.path.join("mounted"),
        view.path.join("mounted/file"),
        view.path.join(".git"),
        view.path.join("src/git"),
        other.path.join("new"),
        orchard.data("trees").join(KEY).join("views/topic/upper/docs/one"),
        orchard.data("trees").join(KEY).join("views/topic/work"),
        orchard.trees.mirror_path(KEY).join("worktrees/topic/index"),
    ] {
        assert_eq!(owner(&path), (0, 0), "{}", path.display());
    }
    assert!(!view.path.join("docs/one").exists());
    assert_eq!(orchard.changes(&other), " M README\n?? new\n");
}

#[test]
fn a_directory_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    let orchard = orchard();
    let outside = orchard.yard.outside();
    let view = orchard.view("topic");
    let (directory, link) = (view.path.join("directory"), view.path.join("link-to-outside"));
    fs::create_dir(&directory).unwrap();
    symlink(&outside, &link).unwrap();
    let names: Vec<String> = (0..50).map(|number| format!("file-{number}")).collect();
    for name in &names {
        fs::write(outside.join(name), "root's\n").unwrap();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..40 {
            // The same names are root's again, wherever the directory is just now.
            for name in &names {
                for place in [&directory, &link] {
                    let path = place.join(name);
                    if fs::symlink_metadata(place).is_ok_and(|place| place.is_dir()) {
                        let _ = fs::remove_file(&path);
                        let _ = fs::write(&path, "root's\n");
                    }
                }
            }
            hand_over(&orchard);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(owner(&outside), (0, 0));
    for entry in fs::read_dir(&outside).unwrap() {
        assert_eq!(owner(entry.unwrap().path()), (0, 0));
    }
    hand_over(&orchard);
    assert!(is_somebodys(&link) && is_somebodys(&directory));
}

#[test]
fn directories_deeper_than_a_path_is_long_are_no_hindrance() {
    let orchard = orchard();
    let view = orchard.view("topic");
    let name = "d".repeat(200);
    let mut here = rustix::fs::open(&view.path, rustix::fs::OFlags::PATH, 0.into()).unwrap();
    for _ in 0..30 {
        rustix::fs::mkdirat(&here, &*name, 0o755.into()).unwrap();
        here = rustix::fs::openat(&here, &*name, rustix::fs::OFlags::PATH, 0.into()).unwrap();
    }
    let given = hand_over(&orchard);
    assert!((15..30).contains(&given), "{given}");
    assert!(is_somebodys(view.path.join(&name)));
    fs::write(view.path.join("README"), "changed\n").unwrap();
    fs::write(view.path.join("new"), "root's\n").unwrap();
    assert_eq!(hand_over(&orchard), 1);
}

#[test]
fn it_ends_when_nobody_waits_for_it() {
    let orchard = orchard();
    let view = orchard.view("topic");
    fs::write(view.path.join("new"), "root's\n").unwrap();
    let cancelled = AtomicBool::new(true);
    let outcome = orchard.trees.hand_over(KEY, "topic", &cancelled);
    assert!(matches!(outcome, Err(Error::Cancelled)));
    assert_eq!(owner(view.path.join("new")), (0, 0));
    assert_eq!(orchard.trees.hand_over(KEY, "topic", &GO_ON).unwrap(), 1);
}
