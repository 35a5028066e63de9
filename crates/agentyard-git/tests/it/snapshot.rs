//! What is shown of a repository on entering it.

use std::sync::atomic::AtomicBool;

use agentyard_git::Error;
use expect_test::expect;

use crate::support::{GO_ON, Yard};

#[test]
fn recent_commits_tags_and_remotes() {
    let yard = Yard::new();
    for number in 1..=7 {
        yard.commit(&format!("commit {number}"));
        yard.git(&["tag", &format!("light-{number}")]);
    }
    yard.git(&[
        "tag",
        "--annotate",
        "--message",
        "of an old commit",
        "v1.0",
        "HEAD~6",
    ]);
    yard.git(&["tag", "--annotate", "--message", "of a tag", "v1.0-again", "v1.0"]);
    yard.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
    yard.git(&["pack-refs", "--all"]);
    let snapshot = yard.open().snapshot(&GO_ON).unwrap();
    let commits: Vec<&str> = snapshot
        .recent_commits
        .iter()
        .map(|commit| commit.subject.as_str())
        .collect();
    assert_eq!(
        commits,
        ["commit 7", "commit 6", "commit 5", "commit 4", "commit 3"]
    );
    let tags: Vec<&str> = snapshot.recent_tags.iter().map(|tag| tag.name.as_str()).collect();
    let of_git = yard.git(&[
        "for-each-ref",
        "--sort=-creatordate",
        "--format=%(refname:short)",
        "--count=5",
        "refs/tags",
    ]);
    assert_eq!(tags, of_git.lines().collect::<Vec<_>>());
    assert_eq!(tags[..2], ["v1.0-again", "v1.0"]);
    // Tags of tags stand for the commit in the end.
    assert_eq!(snapshot.recent_tags[0].target, snapshot.recent_tags[1].target);
    assert_eq!(snapshot.remotes, []);
}

#[test]
fn remotes_are_shown_without_credentials() {
    let yard = Yard::with_commit();
    yard.configure(
        "[remote \"origin\"]\n\turl = https://user:secret-token@example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [remote \"backup\"]\n\turl = git@example.org:a.git\n\tpushurl = https://secret-token@push.example.org/a.git\n\
         [remote \"without-url\"]\n\tfetch = x\n\
         [url \"https://secret-token@example.org/\"]\n\tinsteadOf = https://example.org/",
    );
    let snapshot = yard.open().snapshot(&GO_ON).unwrap();
    assert!(!format!("{snapshot:?}").contains("secret"));
    expect![[r#"
        [
            Remote {
                name: "backup",
                fetch_url: "git@example.org:a.git",
                push_url: "https://push.example.org/a.git",
            },
            Remote {
                name: "origin",
                fetch_url: "https://example.org/a.git",
                push_url: "https://example.org/a.git",
            },
        ]
    "#]]
    .assert_debug_eq(&snapshot.remotes);
}

#[test]
fn an_empty_repository_has_an_empty_snapshot() {
    let yard = Yard::new();
    assert_eq!(yard.open().snapshot(&GO_ON).unwrap(), Default::default());
}

#[test]
fn broken_tags_do_not_hide_the_others() {
    let yard = Yard::with_commit();
    yard.git(&["tag", "good"]);
    yard.write(".git/refs/tags/broken", "not an id\n");
    yard.write(
        ".git/refs/tags/dangling",
        "1234567890123456789012345678901234567890\n",
    );
    let snapshot = yard.open().snapshot(&GO_ON).unwrap();
    assert_eq!(snapshot.recent_tags.len(), 1);
}

#[test]
fn a_cancelled_snapshot_ends() {
    let yard = Yard::with_commit();
    assert!(matches!(
        yard.open().snapshot(&AtomicBool::new(true)),
        Err(Error::Cancelled)
    ));
}
