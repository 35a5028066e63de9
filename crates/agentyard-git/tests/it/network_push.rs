//! Pushing: what arrives, what is kept, and what happens when the remote has moved.

use agentyard_git::{BranchName, Error, PushOptions, PushOutcome, Pushed};

use crate::network_support::Remotes;
use crate::support::message;

fn push(remotes: &Remotes, options: PushOptions) -> Result<Pushed, Error> {
    remotes.work("here", |work| work.push(&options))
}

fn usual() -> PushOptions {
    PushOptions {
        rebase_on_reject: true,
        ..PushOptions::default()
    }
}

fn to(branch: &str) -> PushOptions {
    PushOptions {
        remote_branch: Some(BranchName::new(branch).unwrap()),
        ..usual()
    }
}

fn outcomes(pushed: &Pushed) -> Vec<(&str, PushOutcome)> {
    pushed
        .refs
        .iter()
        .map(|pushed| (pushed.name.as_str(), pushed.outcome))
        .collect()
}

#[test]
fn a_push_arrives_and_is_noted() {
    let remotes = Remotes::new();
    remotes.commit("here", "new", "new\n");
    let dry = push(
        &remotes,
        PushOptions {
            dry_run: true,
            ..usual()
        },
    )
    .unwrap();
    assert_eq!(outcomes(&dry), [("main", PushOutcome::Updated)]);
    assert_ne!(remotes.tip("server.git", "main"), remotes.tip("here", "main"));

    let pushed = push(&remotes, usual()).unwrap();
    assert_eq!(
        (pushed.remote.as_str(), pushed.branch.as_str()),
        ("origin", "main")
    );
    assert_eq!(outcomes(&pushed), [("main", PushOutcome::Updated)]);
    assert_eq!(remotes.tip("server.git", "main"), remotes.tip("here", "main"));
    assert_eq!(remotes.tip("here", "origin/main"), remotes.tip("here", "main"));
    let again = push(&remotes, usual()).unwrap();
    assert_eq!(outcomes(&again), [("main", PushOutcome::UpToDate)]);
}

#[test]
fn a_new_branch_can_be_followed_and_tags_go_along() {
    let remotes = Remotes::new();
    remotes.git("here", &["switch", "--quiet", "--create", "topic"]);
    remotes.commit("here", "new", "new\n");
    remotes.git("here", &["tag", "v1"]);
    let pushed = push(
        &remotes,
        PushOptions {
            set_upstream: true,
            tags: true,
            ..usual()
        },
    )
    .unwrap();
    assert!(pushed.upstream_set);
    assert_eq!(
        outcomes(&pushed),
        [("topic", PushOutcome::Created), ("v1", PushOutcome::Created)]
    );
    assert_eq!(
        remotes.git("here", &["rev-parse", "--abbrev-ref", "topic@{upstream}"]),
        "origin/topic\n"
    );
}

#[test]
fn a_remote_that_moved_is_caught_up_with() {
    let remotes = Remotes::new();
    remotes.moves("theirs", "theirs\n");
    let theirs = remotes.tip("server.git", "main");
    remotes.commit("here", "ours", "ours\n");
    let refused = push(
        &remotes,
        PushOptions {
            rebase_on_reject: false,
            ..usual()
        },
    );
    let refusal = message(refused);
    assert!(refusal.contains("rejected"), "{refusal}");

    let pushed = push(&remotes, usual()).unwrap();
    assert_eq!(pushed.rebased_onto.map(|id| id.to_string()), Some(theirs.clone()));
    assert_eq!(outcomes(&pushed), [("main", PushOutcome::Updated)]);
    assert_eq!(remotes.tip("server.git", "main^"), theirs);
    assert_eq!(remotes.tip("server.git", "main"), remotes.tip("here", "main"));
}

#[test]
fn a_conflict_leaves_everything_as_it_was() {
    let remotes = Remotes::new();
    remotes.moves("file", "theirs\n");
    remotes.commit("here", "file", "ours\n");
    remotes.commit("here", "more", "more\n");
    remotes.yard.write("here/untracked", "untracked\n");
    let before = remotes.state("here");
    let server = remotes.tip("server.git", "main");
    let pushed = push(&remotes, usual()).unwrap();
    assert_eq!(pushed.conflicts, ["file"]);
    assert_eq!(outcomes(&pushed), [("main", PushOutcome::Rejected)]);
    assert_eq!(remotes.state("here"), before);
    assert_eq!(remotes.tip("server.git", "main"), server);
    assert!(!remotes.path("here/.git/rebase-merge").exists());
}

#[test]
fn unsaved_work_is_not_rebased_over() {
    let remotes = Remotes::new();
    remotes.moves("theirs", "theirs\n");
    remotes.commit("here", "ours", "ours\n");
    remotes.yard.write("here/file", "unsaved\n");
    let before = remotes.state("here");
    let refused = message(push(&remotes, usual()));
    assert!(refused.contains("uncommitted changes"), "{refused}");
    assert_eq!(remotes.state("here"), before);
}

#[test]
fn force_needs_a_word_spares_protected_branches_and_keeps_what_was_there() {
    let remotes = Remotes::new();
    remotes.git("there", &["push", "--quiet", "origin", "main:topic"]);
    remotes.commit("there", "theirs", "theirs\n");
    remotes.git("there", &["push", "--quiet", "origin", "main:topic"]);
    let theirs = remotes.tip("server.git", "topic");
    remotes.commit("here", "ours", "ours\n");
    let forced = |confirm, target: &str| PushOptions {
        force: true,
        confirm,
        ..to(target)
    };
    assert!(matches!(
        push(&remotes, forced(false, "topic")),
        Err(Error::Refused { .. })
    ));
    assert!(matches!(
        push(&remotes, forced(true, "main")),
        Err(Error::Refused { .. })
    ));
    assert!(matches!(
        push(&remotes, forced(true, "release/1")),
        Err(Error::Refused { .. })
    ));
    assert_eq!(remotes.tip("server.git", "topic"), theirs);

    let pushed = push(&remotes, forced(true, "topic")).unwrap();
    assert_eq!(outcomes(&pushed), [("topic", PushOutcome::Forced)]);
    let kept = pushed.kept.unwrap();
    assert_eq!(kept.id.to_string(), theirs);
    assert_eq!(remotes.tip("here", &kept.reference), theirs);
    assert_eq!(remotes.tip("server.git", "topic"), remotes.tip("here", "main"));
}

#[test]
fn a_lease_holds_only_while_the_remote_is_as_it_was_fetched() {
    let remotes = Remotes::new();
    remotes.git("there", &["push", "--quiet", "origin", "main:topic"]);
    remotes.git("here", &["fetch", "--quiet"]);
    remotes.commit("there", "theirs", "theirs\n");
    remotes.git("there", &["push", "--quiet", "origin", "main:topic"]);
    remotes.commit("here", "ours", "ours\n");
    let lease = || PushOptions {
        force_with_lease: true,
        confirm: true,
        ..to("topic")
    };
    let refused = message(push(&remotes, lease()));
    assert!(refused.contains("stale info"), "{refused}");
    let theirs = remotes.tip("server.git", "topic");
    remotes.git("here", &["fetch", "--quiet"]);
    let pushed = push(&remotes, lease()).unwrap();
    assert_eq!(pushed.kept.unwrap().id.to_string(), theirs);
    assert_eq!(remotes.tip("server.git", "topic"), remotes.tip("here", "main"));
}

#[test]
fn a_deleted_branch_is_kept() {
    let remotes = Remotes::new();
    remotes.commit("there", "theirs", "theirs\n");
    remotes.git("there", &["push", "--quiet", "origin", "main:topic"]);
    let theirs = remotes.tip("server.git", "topic");
    let delete = |confirm, target: &str| PushOptions {
        delete: true,
        confirm,
        ..to(target)
    };
    assert!(matches!(
        push(&remotes, delete(false, "topic")),
        Err(Error::Refused { .. })
    ));
    assert!(matches!(
        push(&remotes, delete(true, "main")),
        Err(Error::Refused { .. })
    ));
    assert!(matches!(
        push(&remotes, delete(true, "nope")),
        Err(Error::Missing { .. })
    ));
    let pushed = push(&remotes, delete(true, "topic")).unwrap();
    assert_eq!(outcomes(&pushed), [("topic", PushOutcome::Deleted)]);
    assert_eq!(remotes.tip("here", &pushed.kept.unwrap().reference), theirs);
    assert_eq!(remotes.git("server.git", &["branch", "--list", "topic"]), "");
}

#[test]
fn a_push_without_a_branch_or_a_remote_says_what_to_do() {
    let remotes = Remotes::new();
    remotes.git("here", &["switch", "--quiet", "--detach"]);
    assert!(message(push(&remotes, usual())).contains("no branch is checked out"));
    remotes.git("here", &["switch", "--quiet", "main"]);
    remotes.git("here", &["remote", "remove", "origin"]);
    assert!(message(push(&remotes, usual())).contains("has no remote"));
}
