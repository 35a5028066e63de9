//! The status in the states that a repository can be in. git is the judge.

use agentyard_git::{Conflict, Operation};

use crate::porcelain::{check, check_in};
use crate::support::Yard;

#[test]
fn a_repository_before_its_first_commit() {
    let yard = Yard::new();
    let status = check(&yard);
    assert_eq!(status.head.branch.as_deref(), Some("main"));
    assert_eq!(status.head.commit, None);
    assert!(status.is_clean());

    yard.write("new", "1");
    yard.write("staged", "1");
    yard.git(&["add", "staged"]);
    assert!(!check(&yard).is_clean());
}

#[test]
fn a_detached_head() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "--detach"]);
    let status = check(&yard);
    assert_eq!(status.head.branch, None);
    assert!(status.head.commit.is_some());
}

#[test]
fn a_bare_repository_has_a_head_and_no_files() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let status = yard.status_of("bare.git");
    assert!(status.bare && status.is_clean());
    assert_eq!(status.head.branch.as_deref(), Some("main"));
}

#[test]
fn a_linked_worktree() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "topic", "linked"]);
    yard.write("linked/file", "changed here only\n");
    yard.write("linked/new", "");
    let status = check_in(&yard, "linked");
    assert_eq!(status.head.branch.as_deref(), Some("topic"));
    assert_eq!(status.unstaged.modified, ["file"]);
    // Seen from the main worktree it is a nested repository.
    assert_eq!(check(&yard).untracked, ["linked/"]);
}

#[test]
fn a_sha256_repository() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--object-format=sha256",
        "--initial-branch=main",
    ]);
    yard.write("file", "one");
    yard.commit("first");
    yard.write("file", "two");
    yard.write("new", "three");
    yard.git(&["add", "new"]);
    let status = check(&yard);
    assert_eq!(status.head.commit.unwrap().to_string().len(), 64);
}

#[test]
fn a_shallow_clone() {
    let yard = Yard::with_commit();
    yard.write("file", "second\n");
    yard.commit("second");
    let source = format!("file://{}", yard.root().display());
    yard.git(&["clone", "--quiet", "--depth=1", &source, "shallow"]);
    yard.write("shallow/file", "changed");
    let status = check_in(&yard, "shallow");
    assert_eq!(status.upstream.unwrap().name, "origin/main");
}

#[test]
fn a_partial_clone_without_its_files() {
    let yard = Yard::new();
    yard.git(&["config", "uploadpack.allowFilter", "true"]);
    yard.write("one", "line\n".repeat(20));
    yard.write("two", "other\n".repeat(20));
    yard.commit("first");
    let source = format!("file://{}", yard.root().display());
    yard.git(&[
        "clone",
        "--quiet",
        "--filter=blob:none",
        "--no-checkout",
        &source,
        "partial",
    ]);
    let status = yard.status_of("partial");
    assert_eq!(status.staged.deleted, ["one", "two"]);
    // A rename could only be found by fetching the file, which is not done.
    yard.write("partial/three", "line\n".repeat(21));
    yard.git_in(&yard.path("partial"), &["add", "three"]);
    let status = yard.status_of("partial");
    assert_eq!(status.staged.added, ["three"]);
    assert_eq!(status.staged.deleted, ["one", "two"]);
}

#[test]
fn ahead_and_behind() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", ".", "clone"]);
    let clone = yard.path("clone");
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().name, "origin/main");
    for number in 0..3 {
        yard.git_in(
            &clone,
            &[
                "commit",
                "--quiet",
                "--allow-empty",
                "--message",
                &format!("ours {number}"),
            ],
        );
    }
    for number in 0..2 {
        yard.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            &format!("theirs {number}"),
        ]);
    }
    yard.git_in(&clone, &["fetch", "--quiet"]);
    let distance = check_in(&yard, "clone").upstream.unwrap().distance.unwrap();
    assert_eq!((distance.ahead, distance.behind), (3, 2));

    // A local branch as upstream, an upstream that is gone, and none at all.
    yard.git_in(&clone, &["checkout", "--quiet", "-b", "local", "--track", "main"]);
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().name, "main");
    yard.git_in(&clone, &["branch", "--quiet", "--delete", "--force", "main"]);
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().distance, None);
    yard.git_in(&clone, &["checkout", "--quiet", "-b", "without"]);
    assert_eq!(check_in(&yard, "clone").upstream, None);
}

#[test]
fn operations_in_progress() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "side"]);
    yard.write("file", "side\n");
    yard.commit("side");
    yard.git(&["checkout", "--quiet", "main"]);
    assert_eq!(check(&yard).operation, None);
    yard.write("file", "main\n");
    yard.commit("main");
    for (begin, expected, end) in [
        (
            &["merge", "side"][..],
            Operation::Merge,
            &["merge", "--abort"][..],
        ),
        (
            &["cherry-pick", "side"],
            Operation::CherryPick,
            &["cherry-pick", "--abort"],
        ),
        (&["rebase", "side"], Operation::Rebase, &["rebase", "--abort"]),
        (
            &["revert", "--no-edit", "HEAD~1"],
            Operation::Revert,
            &["revert", "--abort"],
        ),
        (&["bisect", "start"], Operation::Bisect, &["bisect", "reset"]),
    ] {
        yard.try_git_in(&yard.root(), begin);
        let status = check(&yard);
        assert_eq!(status.operation, Some(expected));
        if matches!(
            expected,
            Operation::Merge | Operation::CherryPick | Operation::Rebase
        ) {
            assert_eq!(status.conflicted[0].conflict, Conflict::BothModified);
        }
        yard.git(end);
    }
    yard.write("patch", "From 1\nFrom: a <a@b>\nSubject: x\n\n---\n file | 1 +\n--- a/file\n+++ b/file\n@@ -9 +9 @@\n-no\n+yes\n");
    yard.try_git_in(&yard.root(), &["am", "patch"]);
    assert_eq!(check(&yard).operation, Some(Operation::ApplyMailbox));
}
