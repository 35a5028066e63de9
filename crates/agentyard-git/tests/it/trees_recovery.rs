//! Whatever a process leaves that is killed, the next call repairs.

use std::fs::{self, File};
use std::sync::Barrier;

use agentyard_git::{Error, Way};

use crate::support::{GO_ON, command, message};
use crate::trees_support::{KEY, Orchard};

fn unmount(orchard: &Orchard, name: &str) {
    let path = orchard.trees.view_path(KEY, name);
    // The view's own roots hold it open.
    assert!(
        command("umount")
            .arg("--lazy")
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
}

/// A view with work in it that is not committed.
fn with_work(orchard: &Orchard) -> agentyard_git::View {
    let view = orchard.view("topic");
    fs::write(view.path.join("README"), "work\n").unwrap();
    fs::write(view.path.join("new"), "new\n").unwrap();
    view
}

#[test]
fn a_view_that_is_not_mounted_any_more_is_attached_with_its_work() {
    let orchard = Orchard::new();
    let view = with_work(&orchard);
    unmount(&orchard, "topic");
    assert!(!view.path.join("README").exists());
    assert_eq!(orchard.trees.names(KEY).unwrap(), ["topic"]);
    for _ in 0..2 {
        let view = orchard
            .trees
            .attach_view(KEY, "topic", view.way, view.base.as_ref())
            .unwrap();
        assert_eq!(orchard.changes(&view), " M README\n?? new\n");
    }
    // It was mounted once.
    unmount(&orchard, "topic");
    assert!(!view.path.join("README").exists());
}

#[test]
fn git_does_not_forget_a_view_that_is_not_mounted() {
    let orchard = Orchard::new();
    let view = with_work(&orchard);
    unmount(&orchard, "topic");
    orchard.mirror(&["worktree", "prune"]);
    let view = orchard
        .trees
        .attach_view(KEY, "topic", view.way, view.base.as_ref())
        .unwrap();
    assert_eq!(orchard.changes(&view), " M README\n?? new\n");
    let refused = orchard.yard.try_git_in(
        &orchard.trees.mirror_path(KEY),
        &["worktree", "remove", "--force", &view.path.display().to_string()],
    );
    assert!(!refused.status.success());
}

#[test]
fn a_view_that_is_not_whole_is_not_attached() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    let attach = || {
        orchard
            .trees
            .attach_view(KEY, "topic", view.way, view.base.as_ref())
    };
    fs::remove_dir_all(orchard.trees.mirror_path(KEY).join("worktrees/topic")).unwrap();
    assert!(message(attach()).contains("no whole working tree"));
    orchard.close("topic");
    assert!(message(attach()).contains("no whole working tree"));
}

/// What is left, in words, and what leaves it of a whole view.
type State = (&'static str, fn(&Orchard));

/// However far opening came, and however far closing.
#[test]
fn every_half_made_view_is_found_closed_and_opened_anew() {
    let states: [State; 8] = [
        ("whole", |_| {}),
        ("no mount", |orchard| unmount(orchard, "topic")),
        ("no admin directory", |orchard| {
            fs::remove_dir_all(orchard.trees.mirror_path(KEY).join("worktrees/topic")).unwrap();
        }),
        ("only the admin directory, half made", |orchard| {
            unmount(orchard, "topic");
            fs::remove_dir(orchard.trees.view_path(KEY, "topic")).unwrap();
            fs::remove_dir_all(orchard.data("trees").join(KEY).join("views/topic")).unwrap();
            let admin = orchard.trees.mirror_path(KEY).join("worktrees/topic");
            fs::remove_file(admin.join("gitdir")).unwrap();
            fs::remove_file(admin.join("HEAD")).unwrap();
        }),
        ("only layers", |orchard| {
            unmount(orchard, "topic");
            fs::remove_dir(orchard.trees.view_path(KEY, "topic")).unwrap();
            fs::remove_dir_all(orchard.trees.mirror_path(KEY).join("worktrees/topic")).unwrap();
        }),
        ("only the mount point", |orchard| {
            unmount(orchard, "topic");
            fs::remove_dir_all(orchard.data("trees").join(KEY).join("views/topic")).unwrap();
            fs::remove_dir_all(orchard.trees.mirror_path(KEY).join("worktrees/topic")).unwrap();
        }),
        ("a locked index", |orchard| {
            let admin = orchard.trees.mirror_path(KEY).join("worktrees/topic");
            fs::write(admin.join("index.lock"), "").unwrap();
            fs::remove_file(admin.join("index")).unwrap();
        }),
        ("mounted twice", |orchard| {
            let path = orchard.trees.view_path(KEY, "topic");
            let bound = command("mount").args(["--bind"]).arg(&path).arg(&path).status();
            assert!(bound.unwrap().success());
        }),
    ];
    let orchard = Orchard::new();
    for (state, spoil) in states {
        orchard.view("topic");
        spoil(&orchard);
        assert_eq!(orchard.trees.names(KEY).unwrap(), ["topic"], "{state}");
        orchard.close("topic");
        assert!(
            orchard.leftovers().is_empty(),
            "{state}: {:?}",
            orchard.leftovers()
        );
        orchard.close("topic");

        orchard.view("topic");
        spoil(&orchard);
        let view = orchard.view("topic");
        assert_eq!(orchard.changes(&view), "", "{state}");
        orchard.close("topic");
    }
}

#[test]
fn a_view_that_somebody_uses_is_closed_all_the_same() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    let held = File::open(view.path.join("README")).unwrap();
    orchard.close("topic");
    assert!(orchard.leftovers().is_empty());
    drop(held);
}

#[test]
fn a_half_made_base_of_a_dead_process_is_made_anew() {
    let orchard = Orchard::new();
    let tip = orchard.tip();
    let half = orchard
        .data("trees")
        .join(KEY)
        .join(format!("bases/.new-{tip}/0123/tree/src"));
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("main.rs"), "half").unwrap();
    fs::write(half.join("../../index.lock"), "").unwrap();
    // Of a base that was being removed, this is left beside its tree.
    fs::write(half.join("../../../index"), "").unwrap();
    let view = orchard.view("topic");
    assert_eq!(orchard.changes(&view), "");
    assert_eq!(
        fs::read_to_string(view.path.join("src/main.rs")).unwrap(),
        "fn main() {}\n"
    );
    assert!(!half.join("../../..").exists());
}

#[test]
fn only_bases_that_nobody_needs_or_makes_are_pruned() {
    let orchard = Orchard::new();
    let bases = orchard.data("trees").join(KEY).join("bases");
    let used = orchard.tip();
    let view = orchard.view("topic");
    let mut commits = Vec::new();
    for round in ["one", "two"] {
        orchard.write("file", round);
        let commit = orchard.commit(round);
        orchard.fetch().unwrap();
        orchard
            .trees
            .refresh_base(&orchard.git, KEY, &commit, &GO_ON, &|_| {})
            .unwrap();
        commits.push(commit);
    }
    let (dead, alive) = (
        bases.join(format!(".new-{}", "1".repeat(40))),
        bases.join(format!(".new-{}", "2".repeat(40))),
    );
    fs::create_dir_all(dead.join("tree")).unwrap();
    fs::create_dir_all(alive.join("tree")).unwrap();
    let held = File::open(&alive).unwrap();
    held.lock().unwrap();
    unmount(&orchard, "topic");
    orchard.trees.prune_bases(KEY, &commits[1..], &GO_ON).unwrap();
    let exists = |commit: &agentyard_git::ObjectId| bases.join(commit.to_string()).exists();
    assert!(exists(&used) && !exists(&commits[0]) && exists(&commits[1]));
    assert!(!dead.exists() && alive.exists());
    drop(held);
    orchard.trees.prune_bases(KEY, &commits[1..], &GO_ON).unwrap();
    assert!(!alive.exists());
    let view = orchard
        .trees
        .attach_view(KEY, "topic", view.way, view.base.as_ref())
        .unwrap();
    assert_eq!(orchard.changes(&view), "");
}

#[test]
fn locks_that_nobody_holds_are_no_hindrance() {
    let orchard = Orchard::new();
    let mirror = orchard.trees.mirror_path(KEY);
    fs::create_dir_all(mirror.join("refs/heads")).unwrap();
    let locks = [
        "config.lock",
        "refs/heads/topic.lock",
        "refs/remotes/origin/main.lock",
    ];
    for lock in locks {
        fs::write(mirror.join(lock), "").unwrap();
        let old = command("touch")
            .args(["-d", "1 hour ago"])
            .arg(mirror.join(lock))
            .status();
        assert!(old.unwrap().success());
    }
    orchard.write("file", "new\n");
    let tip = orchard.commit("second");
    orchard.fetch().unwrap();
    let view = orchard.view("topic");
    assert_eq!(orchard.git(&view, &["rev-parse", "HEAD"]).trim(), tip.to_string());
    assert!(locks.iter().all(|lock| !mirror.join(lock).exists()));
}

#[test]
fn several_threads_and_data_directory_handles_open_views_at_once() {
    let orchard = Orchard::new();
    let tip = orchard.tip();
    let start = Barrier::new(8);
    let opened = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8)
            .map(|number| {
                let (orchard, start) = (&orchard, &start);
                scope.spawn(move || {
                    start.wait();
                    let name = format!("topic-{number}");
                    orchard.try_view(&name, &name, tip)
                })
            })
            .collect();
        let joined = opening.into_iter().map(|thread| thread.join().unwrap());
        joined.collect::<Result<Vec<_>, Error>>()
    })
    .unwrap();
    for (number, view) in opened.iter().enumerate() {
        assert_eq!(orchard.changes(view), "");
        let merge = orchard.git(
            view,
            &["config", "--get-all", &format!("branch.topic-{number}.merge")],
        );
        assert_eq!(merge, format!("refs/heads/topic-{number}\n"));
    }
    let bases = fs::read_dir(orchard.data("trees").join(KEY).join("bases")).unwrap();
    assert_eq!(bases.count(), 1);
}

#[test]
fn a_failed_opening_leaves_nothing() {
    for way in [Way::Overlay, Way::Checkout] {
        let orchard = Orchard::made_by(way);
        let nowhere = "1".repeat(40).parse().unwrap();
        assert!(orchard.try_view("topic", "topic", nowhere).is_err());
        assert!(orchard.leftovers().is_empty(), "{:?}", orchard.leftovers());
        let branches = orchard.mirror(&["for-each-ref", "refs/heads"]);
        assert_eq!(branches, "");
    }
}
