//! Branches are made, moved, renamed and deleted.

use agentyard_git::{
    BranchChange, BranchCreation, BranchDeletion, BranchName, BranchRename, Error, Kept, ObjectId, Revision,
    Work,
};

use crate::support::{Yard, message};

fn name(text: &str) -> BranchName {
    BranchName::new(text).unwrap()
}

fn id(yard: &Yard, revision: &str) -> ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

fn creation(branch: &str) -> BranchCreation {
    BranchCreation {
        name: name(branch),
        start: None,
        force: false,
        confirm: false,
    }
}

fn at(branch: &str, start: &str) -> BranchCreation {
    BranchCreation {
        start: Some(Revision::new(start).unwrap()),
        ..creation(branch)
    }
}

fn deletion(branch: &str) -> BranchDeletion {
    BranchDeletion {
        name: name(branch),
        remote: false,
        force: false,
        confirm: true,
    }
}

fn rename(from: Option<&str>, to: &str) -> BranchRename {
    BranchRename {
        from: from.map(name),
        to: name(to),
        force: false,
        confirm: false,
    }
}

fn refs(yard: &Yard) -> String {
    yard.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
}

/// Fails, and changes nothing.
fn refused<T: std::fmt::Debug>(yard: &Yard, work: impl FnOnce(&Work<'_>) -> Result<T, Error>) -> String {
    let before = (refs(yard), yard.git(&["symbolic-ref", "-q", "HEAD"]));
    let refusal = message(yard.work(work));
    assert_eq!((refs(yard), yard.git(&["symbolic-ref", "-q", "HEAD"])), before);
    refusal
}

fn assert_kept(yard: &Yard, kept: Option<Kept>, id: ObjectId) {
    let kept = kept.unwrap();
    assert!(kept.reference.starts_with("refs/agentyard/kept/"), "{kept:?}");
    assert_eq!((kept.id, self::id(yard, &kept.reference)), (id, id));
}

/// `main`, and `topic` with one commit more.
fn with_topic() -> Yard {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    yard.commit("second");
    yard.git(&["checkout", "--quiet", "main"]);
    yard
}

#[test]
fn branches_are_made_where_they_are_wanted() {
    let yard = with_topic();
    let made = yard
        .work(|work| work.create_branch(&creation("feature/-x")))
        .unwrap();
    let expected = BranchChange {
        name: "feature/-x".to_owned(),
        commit: Some(id(&yard, "main")),
        upstream: None,
        kept: None,
    };
    assert_eq!(made, expected);
    let made = yard.work(|work| work.create_branch(&at("b", "topic~1"))).unwrap();
    assert_eq!(made.commit, Some(id(&yard, "main")));
    // The same again is no change.
    assert_eq!(
        yard.work(|work| work.create_branch(&at("b", "topic~1"))).unwrap(),
        made
    );
    assert_eq!(yard.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
}

#[test]
fn a_branch_made_from_a_remote_one_follows_it() {
    let yard = with_topic();
    yard.git(&["remote", "add", "origin", "https://example.org/x"]);
    yard.git(&["update-ref", "refs/remotes/origin/far", "topic"]);
    let made = yard
        .work(|work| work.create_branch(&at("near", "origin/far")))
        .unwrap();
    assert_eq!(made.upstream.as_deref(), Some("origin/far"));
    assert_eq!(yard.git(&["config", "branch.near.merge"]), "refs/heads/far\n");
    let made = yard
        .work(|work| work.create_branch(&at("other", "origin/far~1")))
        .unwrap();
    assert_eq!(made.upstream, None);
    // A branch of this repository with that name comes first, as for git.
    yard.git(&["branch", "origin/far", "main"]);
    let made = yard
        .work(|work| work.create_branch(&at("third", "origin/far")))
        .unwrap();
    assert_eq!((made.commit, made.upstream), (Some(id(&yard, "main")), None));
}

#[test]
fn a_branch_is_moved_only_when_that_is_confirmed() {
    let yard = with_topic();
    let old = id(&yard, "topic");
    let refusal = refused(&yard, |work| work.create_branch(&at("topic", "main")));
    assert!(refusal.contains("exists already"), "{refusal}");
    let mut move_it = BranchCreation {
        force: true,
        ..at("topic", "main")
    };
    let refusal = refused(&yard, |work| work.create_branch(&move_it));
    assert!(refusal.contains("would be moved from"), "{refusal}");
    move_it.confirm = true;
    let moved = yard.work(|work| work.create_branch(&move_it)).unwrap();
    assert_eq!(moved.commit, Some(id(&yard, "main")));
    assert_kept(&yard, moved.kept, old);

    let protected = BranchCreation {
        name: name("main"),
        start: Some(Revision::new(old.to_string()).unwrap()),
        ..move_it.clone()
    };
    assert!(refused(&yard, |work| work.create_branch(&protected)).contains("protected"));
    yard.git(&["branch", "release/1", "main"]);
    let protected = BranchCreation {
        name: name("release/1"),
        ..protected
    };
    assert!(refused(&yard, |work| work.create_branch(&protected)).contains("protected"));
}

#[test]
fn a_branch_that_is_checked_out_is_neither_moved_nor_deleted() {
    let yard = with_topic();
    yard.git(&["worktree", "add", "--quiet", "linked", "topic"]);
    let move_it = BranchCreation {
        force: true,
        confirm: true,
        ..at("topic", "main")
    };
    let refusal = refused(&yard, |work| work.create_branch(&move_it));
    assert!(
        refusal.contains("checked out in") && refusal.contains("linked"),
        "{refusal}"
    );
    let forced = BranchDeletion {
        force: true,
        ..deletion("topic")
    };
    assert!(refused(&yard, |work| work.delete_branch(&forced)).contains("checked out in"));
    yard.git(&["checkout", "--quiet", "-b", "here"]);
    assert!(refused(&yard, |work| work.delete_branch(&deletion("here"))).contains("checked out here"));
}

#[test]
fn branches_are_deleted_and_kept() {
    let yard = with_topic();
    let tip = id(&yard, "topic");
    let refusal = refused(&yard, |work| work.delete_branch(&deletion("topic")));
    assert!(refusal.contains("1 commit that neither"), "{refusal}");
    let mut forced = BranchDeletion {
        force: true,
        confirm: false,
        ..deletion("topic")
    };
    assert!(refused(&yard, |work| work.delete_branch(&forced)).contains("would be deleted"));
    forced.confirm = true;
    let deleted = yard.work(|work| work.delete_branch(&forced)).unwrap();
    assert_eq!(deleted.commit, Some(tip));
    assert_kept(&yard, deleted.kept, tip);
    assert!(!refs(&yard).contains("refs/heads/topic"));

    // What is merged into HEAD or its upstream needs no force, and still a word.
    yard.git(&["branch", "merged"]);
    let unsure = BranchDeletion {
        confirm: false,
        ..deletion("merged")
    };
    assert!(refused(&yard, |work| work.delete_branch(&unsure)).contains("would be deleted"));
    assert!(yard.work(|work| work.delete_branch(&deletion("merged"))).is_ok());
    yard.git(&["remote", "add", "origin", "https://example.org/x"]);
    yard.git(&["update-ref", "refs/remotes/origin/up", &tip.to_string()]);
    yard.git(&["branch", "--quiet", "up", "origin/up"]);
    assert!(yard.work(|work| work.delete_branch(&deletion("up"))).is_ok());

    let missing = message(yard.work(|work| work.delete_branch(&deletion("nope"))));
    assert!(missing.contains("there is no branch `nope`"), "{missing}");
    let remote = BranchDeletion {
        remote: true,
        ..deletion("origin/up")
    };
    assert_kept(
        &yard,
        yard.work(|work| work.delete_branch(&remote)).unwrap().kept,
        tip,
    );
    assert!(!refs(&yard).contains("refs/remotes/"));
}

#[test]
fn a_protected_branch_is_never_deleted_or_renamed() {
    let yard = with_topic();
    yard.git(&["checkout", "--quiet", "topic"]);
    let forced = BranchDeletion {
        force: true,
        ..deletion("main")
    };
    assert!(refused(&yard, |work| work.delete_branch(&forced)).contains("protected"));
    assert!(refused(&yard, |work| work.rename_branch(&rename(Some("main"), "old"))).contains("protected"));
    let over = BranchRename {
        force: true,
        confirm: true,
        ..rename(Some("topic"), "main")
    };
    assert!(refused(&yard, |work| work.rename_branch(&over)).contains("protected"));
}

#[test]
fn branches_are_renamed() {
    let yard = with_topic();
    yard.git(&["worktree", "add", "--quiet", "linked", "topic"]);
    let tip = id(&yard, "topic");
    let renamed = yard
        .work(|work| work.rename_branch(&rename(Some("topic"), "subject")))
        .unwrap();
    assert_eq!((renamed.name.as_str(), renamed.commit), ("subject", Some(tip)));
    let linked = yard.git_in(&yard.path("linked"), &["symbolic-ref", "HEAD"]);
    assert_eq!(linked, "refs/heads/subject\n");

    yard.git(&["branch", "taken", "main"]);
    let mut over = rename(Some("subject"), "taken");
    assert!(refused(&yard, |work| work.rename_branch(&over)).contains("already"));
    over.force = true;
    assert!(refused(&yard, |work| work.rename_branch(&over)).contains("would be replaced"));
    over.confirm = true;
    let renamed = yard.work(|work| work.rename_branch(&over)).unwrap();
    assert_kept(&yard, renamed.kept, id(&yard, "main"));
    assert_eq!(id(&yard, "taken"), tip);
    let missing = message(yard.work(|work| work.rename_branch(&rename(Some("nope"), "x"))));
    assert!(missing.contains("there is no branch"), "{missing}");
}

#[test]
fn before_the_first_commit() {
    let yard = Yard::new();
    let refusal = message(yard.work(|work| work.create_branch(&creation("topic"))));
    assert!(refusal.contains("no commit yet"), "{refusal}");
    let renamed = yard
        .work(|work| work.rename_branch(&rename(None, "trunk")))
        .unwrap();
    assert_eq!((renamed.name.as_str(), renamed.commit), ("trunk", None));
    assert_eq!(yard.git(&["symbolic-ref", "HEAD"]), "refs/heads/trunk\n");
    let refusal = message(yard.work(|work| work.set_upstream(None, &name("origin/x"))));
    assert!(refusal.contains("no commit yet"), "{refusal}");
}

#[test]
fn on_a_detached_head() {
    let yard = with_topic();
    yard.git(&["checkout", "--quiet", "--detach", "topic"]);
    let made = yard.work(|work| work.create_branch(&creation("here"))).unwrap();
    assert_eq!(made.commit, Some(id(&yard, "topic")));
    for refusal in [
        message(yard.work(|work| work.rename_branch(&rename(None, "x")))),
        message(yard.work(|work| work.unset_upstream(None))),
    ] {
        assert!(refusal.contains("HEAD is detached"), "{refusal}");
    }
}

#[test]
fn in_bare_and_sha256_repositories() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--bare",
        "--object-format=sha256",
        "--initial-branch=main",
    ]);
    let tree = yard.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let commit = yard.git(&["commit-tree", "-m", "first", tree.trim()]);
    yard.git(&["update-ref", "refs/heads/main", commit.trim()]);
    let made = yard.work(|work| work.create_branch(&creation("topic"))).unwrap();
    assert_eq!(made.commit.unwrap().to_string(), commit.trim());
    assert!(yard.work(|work| work.delete_branch(&deletion("topic"))).is_ok());
    let refusal = message(yard.work(|work| work.delete_branch(&deletion("main"))));
    assert!(refusal.contains("protected"), "{refusal}");
}

#[test]
fn upstreams_are_set_and_unset() {
    let yard = with_topic();
    yard.git(&["remote", "add", "origin", "https://example.org/x"]);
    yard.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let set = yard
        .work(|work| work.set_upstream(None, &name("origin/main")))
        .unwrap();
    assert_eq!(
        (set.name.as_str(), set.upstream.as_deref()),
        ("main", Some("origin/main"))
    );
    let topic = name("topic");
    let set = yard
        .work(|work| work.set_upstream(Some(&topic), &name("main")))
        .unwrap();
    assert_eq!(set.upstream.as_deref(), Some("main"));
    let unset = yard.work(|work| work.unset_upstream(Some(&topic))).unwrap();
    assert_eq!(unset.upstream, None);
    let missing = message(yard.work(|work| work.set_upstream(None, &name("origin/nope"))));
    assert!(missing.contains("git_fetch"), "{missing}");
}
