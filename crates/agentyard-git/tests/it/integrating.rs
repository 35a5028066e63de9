//! Bringing a branch up to date, wholly or not at all.

use agentyard_git::{Integration, IntegrationResult, ObjectId, Operation};

use crate::support::{Yard, diverged, message, tree_state};

fn side(yard: &Yard) -> ObjectId {
    yard.git(&["rev-parse", "side"]).trim().parse().unwrap()
}

#[test]
fn a_conflict_leaves_everything_as_it_was_and_is_named() {
    for how in [Integration::Rebase, Integration::Merge] {
        let yard = diverged("ours\n", "theirs\n");
        yard.write("own", "own");
        yard.commit("another one that would be put on top");
        yard.write("untracked", "mine\n");
        yard.write(".git/info/exclude", "only-side\n");
        yard.write("only-side", "ignored, and in the way\n");
        let before = tree_state(&yard);
        let upstream = side(&yard);
        let integrated = yard
            .work(|work| work.integrate_or_restore(&upstream, how))
            .unwrap();
        assert_eq!(
            integrated.result,
            IntegrationResult::WouldConflict(vec!["file".to_owned()])
        );
        assert_eq!(tree_state(&yard), before);
        assert_eq!(
            std::fs::read(yard.path("only-side")).unwrap(),
            b"ignored, and in the way\n"
        );
        assert_eq!(integrated.previous, integrated.head);
    }
}

#[test]
fn a_conflict_that_may_stay_is_left_in_progress() {
    for (how, operation) in [
        (Integration::Rebase, Operation::Rebase),
        (Integration::Merge, Operation::Merge),
    ] {
        let yard = diverged("ours\n", "theirs\n");
        let upstream = side(&yard);
        let integrated = yard.work(|work| work.integrate_upstream(&upstream, how)).unwrap();
        assert!(
            matches!(integrated.result, IntegrationResult::Stopped(conflicts) if conflicts.files[0].path == "file")
        );
        assert_eq!(yard.status().operation, Some(operation));
    }
}

#[test]
fn branches_that_agree_are_joined() {
    for (how, expected, parents) in [
        (Integration::Rebase, IntegrationResult::Rebased { commits: 1 }, 1),
        (Integration::Merge, IntegrationResult::Merged, 2),
    ] {
        let yard = diverged("ours\n", "content\n");
        let upstream = side(&yard);
        let integrated = yard
            .work(|work| work.integrate_or_restore(&upstream, how))
            .unwrap();
        assert_eq!(integrated.result, expected);
        assert_eq!(integrated.changed.paths, ["only-side"]);
        assert_eq!(
            yard.git(&["log", "-1", "--format=%P"]).split_whitespace().count(),
            parents
        );
        assert!(yard.status().is_clean());
        let again = yard
            .work(|work| work.integrate_or_restore(&upstream, how))
            .unwrap();
        assert_eq!(again.result, IntegrationResult::UpToDate);
    }
}

#[test]
fn a_branch_without_commits_of_its_own_is_moved_forward() {
    for how in [
        Integration::Rebase,
        Integration::Merge,
        Integration::FastForwardOnly,
    ] {
        let yard = diverged("ours\n", "theirs\n");
        yard.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        let upstream = side(&yard);
        let integrated = yard
            .work(|work| work.integrate_or_restore(&upstream, how))
            .unwrap();
        assert_eq!(integrated.result, IntegrationResult::FastForward);
        assert_eq!(integrated.head, Some(upstream));
    }
    let yard = diverged("ours\n", "theirs\n");
    let upstream = side(&yard);
    let error = message(yard.work(|work| work.integrate_or_restore(&upstream, Integration::FastForwardOnly)));
    assert!(error.contains("diverged"), "{error}");
}

#[test]
fn before_the_first_commit_everything_comes_from_upstream() {
    let yard = diverged("ours\n", "theirs\n");
    let upstream = side(&yard);
    yard.git(&["checkout", "--quiet", "--orphan", "unborn"]);
    yard.git(&["rm", "--quiet", "-r", "-f", "."]);
    let integrated = yard
        .work(|work| work.integrate_or_restore(&upstream, Integration::Rebase))
        .unwrap();
    assert_eq!(integrated.result, IntegrationResult::FastForward);
    assert!(yard.status().is_clean());
}

#[test]
fn changes_that_are_not_committed_are_carried_over() {
    for how in [Integration::Rebase, Integration::Merge] {
        let yard = diverged("ours\n", "content\n");
        yard.write("tracked", "1\n2\n3\n");
        yard.commit("another one");
        yard.write("tracked", "1\n2\n3\n4\n");
        yard.write("staged", "staged\n");
        yard.git(&["add", "staged"]);
        yard.write("staged", "staged, and changed since\n");
        yard.write("sub/untracked", "mine\n");
        let before = yard.git(&["status", "--porcelain", "--untracked-files=all"]);
        let upstream = side(&yard);
        let carried = yard.work(|work| work.integrate_carrying(&upstream, how)).unwrap();
        assert!(carried.carried && carried.conflicts.is_empty());
        assert_eq!(
            yard.git(&["status", "--porcelain", "--untracked-files=all"]),
            before
        );
        assert_eq!(std::fs::read(yard.path("tracked")).unwrap(), b"1\n2\n3\n4\n");
        assert_eq!(
            std::fs::read(yard.path("staged")).unwrap(),
            b"staged, and changed since\n"
        );
        assert_eq!(yard.git(&["show", ":staged"]), "staged\n");
        assert_eq!(std::fs::read(yard.path("sub/untracked")).unwrap(), b"mine\n");
        assert_eq!(std::fs::read(yard.path("only-side")).unwrap(), b"side\n");
        assert!(yard.git(&["stash", "list"]).is_empty());
    }
}

#[test]
fn changes_that_conflict_with_what_comes_are_named() {
    let yard = diverged("ours\n", "content\n");
    yard.write("only-side", "mine, and untracked\n");
    let upstream = side(&yard);
    let carried = yard
        .work(|work| work.integrate_carrying(&upstream, Integration::Rebase))
        .unwrap();
    assert!(!carried.carried);
    assert_eq!(carried.conflicts, ["only-side"]);
}

#[test]
fn changes_stay_where_nothing_could_be_brought_in() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("file", "ours, and changed\n");
    yard.write("new", "new\n");
    yard.git(&["add", "new"]);
    let before = tree_state(&yard);
    let upstream = side(&yard);
    let carried = yard
        .work(|work| work.integrate_carrying(&upstream, Integration::Rebase))
        .unwrap();
    assert_eq!(
        carried.integrated.result,
        IntegrationResult::WouldConflict(vec!["file".to_owned()])
    );
    assert!(carried.carried);
    assert_eq!(tree_state(&yard), before);
}
