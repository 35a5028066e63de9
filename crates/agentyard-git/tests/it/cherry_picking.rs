//! Cherry-picks, and reverts in progress.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are not general enough over the lifetime of `Work`"
)]

use agentyard_git::{
    CherryPickOptions, CherryPickResult, CherryPicked, Error, ObjectId, Operation, Revision,
};

use crate::support::{Yard, diverged, message, tree_state};

fn picks(commits: &[&str]) -> CherryPickOptions {
    CherryPickOptions {
        commits: commits
            .iter()
            .map(|commit| Revision::new(*commit).unwrap())
            .collect(),
        ..CherryPickOptions::default()
    }
}

fn pick(yard: &Yard, options: &CherryPickOptions) -> Result<CherryPicked, Error> {
    yard.work(|work| work.cherry_pick(options))
}

fn id(yard: &Yard, revision: &str) -> ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

/// `topic` with four commits of a file each, and `main` without them.
fn four() -> Yard {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    for name in ["a", "b", "c", "d"] {
        yard.write(name, name);
        yard.commit(name);
    }
    yard.git(&["checkout", "--quiet", "main"]);
    yard
}

fn subjects(yard: &Yard) -> String {
    yard.git(&["log", "--reverse", "--format=%s"])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn commits_and_ranges_are_picked_in_the_order_given() {
    let yard = four();
    let picked = pick(&yard, &picks(&["topic", "topic~4..topic~2"])).unwrap();
    assert_eq!(picked.result, CherryPickResult::Done);
    assert_eq!(subjects(&yard), "first d a b");
    assert_eq!(
        picked.picked,
        ["HEAD~2", "HEAD~1", "HEAD"].map(|revision| id(&yard, revision))
    );
    assert_eq!(picked.head, Some(id(&yard, "HEAD")));
}

#[test]
fn lines_are_added_to_messages_and_commits_left_out_as_asked_for() {
    let yard = four();
    let options = CherryPickOptions {
        signoff: true,
        record_origin: true,
        ..picks(&["topic"])
    };
    pick(&yard, &options).unwrap();
    let message = yard.git(&["log", "-1", "--format=%B"]);
    let origin = format!("(cherry picked from commit {})", id(&yard, "topic"));
    assert!(
        message.contains(&origin) && message.contains("Signed-off-by: Grace"),
        "{message}"
    );

    let options = CherryPickOptions {
        no_commit: true,
        ..picks(&["topic~1", "topic~2"])
    };
    let picked = pick(&yard, &options).unwrap();
    assert_eq!((picked.picked.len(), subjects(&yard).as_str()), (0, "first d"));
    assert_eq!(yard.status().staged.added, ["b", "c"]);
}

#[test]
fn picks_that_change_nothing_are_left_out_and_named() {
    let yard = four();
    pick(&yard, &picks(&["topic~3"])).unwrap();
    let picked = pick(&yard, &picks(&["topic~3", "topic~2"])).unwrap();
    assert_eq!(picked.result, CherryPickResult::Done);
    assert_eq!(subjects(&yard), "first a b");
    assert_eq!(picked.empty, [id(&yard, "topic~3")]);
    let options = CherryPickOptions {
        keep_empty: true,
        ..picks(&["topic~3"])
    };
    assert_eq!(pick(&yard, &options).unwrap().picked.len(), 1);
    assert_eq!(subjects(&yard), "first a b a");
}

#[test]
fn a_conflict_is_data_and_picking_goes_on_after_it() {
    let yard = diverged("ours\n", "theirs\n");
    yard.git(&["checkout", "--quiet", "side"]);
    yard.write("more", "");
    yard.commit("more");
    yard.git(&["checkout", "--quiet", "main"]);
    let before = tree_state(&yard);
    let start = || pick(&yard, &picks(&["main..side"])).unwrap();
    let CherryPickResult::Stopped {
        commit, conflicts, ..
    } = start().result
    else {
        panic!("no conflict");
    };
    assert_eq!(commit, Some(id(&yard, "side~1")));
    assert_eq!(conflicts.files[0].path, "file");
    assert_eq!(yard.status().operation, Some(Operation::CherryPick));
    let error = message(yard.work(|work| work.continue_cherry_pick(None)));
    assert!(error.contains("unresolved conflicts: file"), "{error}");

    let aborted = yard.work(|work| work.abort_cherry_pick()).unwrap();
    assert_eq!(aborted.result, CherryPickResult::Aborted);
    assert!(aborted.kept.is_some());
    assert_eq!(tree_state(&yard), before);

    start();
    let skipped = yard.work(|work| work.skip_cherry_pick(None)).unwrap();
    assert_eq!(skipped.result, CherryPickResult::Done);
    assert_eq!(subjects(&yard), "first main more");
    yard.git(&["reset", "--quiet", "--hard", "HEAD~1"]);

    start();
    yard.write("file", "resolved\n");
    yard.git(&["add", "file"]);
    let picked = yard.work(|work| work.continue_cherry_pick(None)).unwrap();
    assert_eq!((picked.result, picked.picked.len()), (CherryPickResult::Done, 2));
    assert_eq!(subjects(&yard), "first main side more");
    assert_eq!(yard.git(&["show", "HEAD~1:file"]), "resolved\n");
}

#[test]
fn a_resolution_that_changes_nothing_is_left_out_too() {
    let yard = diverged("ours\n", "theirs\n");
    pick(&yard, &picks(&["side"])).unwrap();
    yard.git(&["reset", "--quiet", "--", "only-side"]);
    yard.remove("only-side");
    yard.write("file", "ours\n");
    yard.git(&["add", "file"]);
    let picked = yard.work(|work| work.continue_cherry_pick(None)).unwrap();
    assert_eq!(
        (picked.result, picked.empty),
        (CherryPickResult::Done, vec![id(&yard, "side")])
    );
    assert_eq!(yard.status().operation, None);
}

#[test]
fn a_revert_in_progress_is_continued_and_aborted() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("file", "later\n");
    yard.commit("later");
    let before = tree_state(&yard);
    let revert = || yard.try_git_in(&yard.root(), &["revert", "--no-edit", "HEAD~1"]);
    revert();
    assert_eq!(yard.status().operation, Some(Operation::Revert));
    let error = message(pick(&yard, &picks(&["side"])));
    assert_eq!(error, "a revert is in progress in this repository");
    yard.work(|work| work.abort_cherry_pick()).unwrap();
    assert_eq!(tree_state(&yard), before);
    revert();
    yard.write("file", "resolved\n");
    yard.git(&["add", "file"]);
    yard.work(|work| work.continue_cherry_pick(None)).unwrap();
    assert_eq!(yard.git(&["log", "-1", "--format=%s"]).trim(), "Revert \"main\"");
}

#[test]
fn merges_need_a_mainline() {
    let yard = diverged("ours\n", "content\n");
    yard.git(&["checkout", "--quiet", "-b", "joined"]);
    yard.git(&["merge", "--quiet", "--no-edit", "side"]);
    yard.git(&["checkout", "--quiet", "-b", "target", "main~1"]);
    let before = tree_state(&yard);
    assert!(message(pick(&yard, &picks(&["joined"]))).contains("merge"));
    assert_eq!(tree_state(&yard), before);
    let options = CherryPickOptions {
        mainline: Some(1),
        ..picks(&["joined"])
    };
    assert_eq!(pick(&yard, &options).unwrap().picked.len(), 1);
    assert!(yard.path("only-side").exists());
}

#[test]
fn what_cannot_be_picked_is_refused() {
    let yard = diverged("ours\n", "theirs\n");
    assert!(message(pick(&yard, &picks(&[]))).contains("names no commit"));
    assert!(message(pick(&yard, &picks(&["side..side"]))).contains("names no commit"));
    assert!(Revision::new("--strategy=evil").is_err());
    yard.write("file", "not committed\n");
    let before = tree_state(&yard);
    let error = message(pick(&yard, &picks(&["side"])));
    assert!(error.contains("in the way: file"), "{error}");
    assert_eq!(tree_state(&yard), before);
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let bare = yard.try_open("bare.git").unwrap();
    assert!(message(yard.work_in(&bare, |work| work.cherry_pick(&picks(&["side"])))).contains("bare"));
}

#[test]
fn a_conflict_without_a_commit_is_not_in_progress() {
    let yard = diverged("ours\n", "theirs\n");
    let options = CherryPickOptions {
        no_commit: true,
        ..picks(&["side"])
    };
    let picked = pick(&yard, &options).unwrap();
    assert!(matches!(
        picked.result,
        CherryPickResult::Stopped { in_progress: false, conflicts, .. } if conflicts.files[0].path == "file"
    ));
    assert_eq!(yard.status().operation, None);
}
