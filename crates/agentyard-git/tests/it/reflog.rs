//! Where references pointed before, and what was put aside.

use std::sync::atomic::AtomicBool;

use agentyard_git::{BranchQuery, Error, LogQuery, ReflogPage, ReflogQuery, StashList, TagQuery};

use crate::support::{GO_ON, Yard};

fn of(reference: &str) -> ReflogQuery {
    ReflogQuery {
        reference: reference.to_owned(),
        ..ReflogQuery::default()
    }
}

fn log(yard: &Yard, query: &ReflogQuery) -> ReflogPage {
    yard.open().reflog(query, &GO_ON).unwrap()
}

/// Entries in the words of `git reflog`.
fn said(page: &ReflogPage) -> Vec<String> {
    let entries = page.entries.iter().map(|entry| {
        let message = if entry.message.is_empty() {
            entry.action.clone()
        } else {
            format!("{}: {}", entry.action, entry.message)
        };
        let (id, at) = (entry.id, entry.who.at.as_second());
        format!("{id} {} {} {at} {message}", entry.selector, entry.who.name)
    });
    entries.collect()
}

fn git_says(yard: &Yard, reference: &str) -> Vec<String> {
    let entries = yard.git(&["reflog", "--format=%H %gd %gn", reference, "--"]);
    let times = yard.git(&["reflog", "--date=unix", "--format=%gd", reference, "--"]);
    let messages = yard.git(&["reflog", "--format=%gs", reference, "--"]);
    let lines = entries.lines().zip(times.lines()).zip(messages.lines());
    let lines = lines.map(|((entry, time), message)| {
        let (_, time) = time.split_once("@{").unwrap();
        format!("{entry} {} {message}", time.trim_end_matches('}'))
    });
    lines.collect()
}

fn used() -> Yard {
    let yard = Yard::with_commit();
    yard.commit("second: with a colon");
    yard.git(&["checkout", "--quiet", "-b", "topic/deep"]);
    yard.commit("third");
    yard.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--allow-empty",
        "--message",
        "amended",
    ]);
    yard.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    yard.git(&[
        "update-ref",
        "--create-reflog",
        "-m",
        "fetch: storing head",
        "refs/remotes/origin/main",
        "main",
    ]);
    yard.git(&["checkout", "--quiet", "main"]);
    yard
}

#[test]
fn logs_are_those_of_git() {
    let yard = used();
    yard.write("file", "changed\n");
    yard.git(&["stash"]);
    for (reference, count) in [
        ("HEAD", 8),
        ("main", 2),
        ("topic/deep", 4),
        ("refs/heads/topic/deep", 4),
        ("origin/main", 1),
        ("stash", 1),
    ] {
        let page = log(&yard, &of(reference));
        assert_eq!(said(&page), git_says(&yard, reference), "{reference}");
        assert_eq!(
            (page.entries.len(), page.more, page.missing),
            (count, false, false),
            "{reference}"
        );
    }
}

#[test]
fn entries_are_taken_apart() {
    let yard = used();
    let page = log(&yard, &of("topic/deep"));
    let parts: Vec<(&str, &str, &str)> = page
        .entries
        .iter()
        .map(|entry| {
            (
                entry.selector.as_str(),
                entry.action.as_str(),
                entry.message.as_str(),
            )
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("topic/deep@{0}", "reset", "moving to HEAD~1"),
            ("topic/deep@{1}", "commit (amend)", "amended"),
            ("topic/deep@{2}", "commit", "third"),
            ("topic/deep@{3}", "branch", "Created from HEAD"),
        ]
    );
    assert_eq!(page.entries[0].previous, Some(page.entries[1].id));
    assert_eq!(page.entries[3].previous, None);
    assert_eq!(page.reference, "topic/deep");
}

#[test]
fn pages() {
    let yard = used();
    let whole = log(&yard, &of("HEAD")).entries;
    let query = ReflogQuery {
        skip: 2,
        limit: 3,
        ..of("HEAD")
    };
    let page = log(&yard, &query);
    assert_eq!((&page.entries[..], page.more), (&whole[2..5], true));
    let rest = log(&yard, &ReflogQuery { skip: 5, ..query });
    assert_eq!((&rest.entries[..], rest.more), (&whole[5..], false));
}

#[test]
fn a_missing_log_is_told() {
    let yard = Yard::with_commit();
    yard.git(&["update-ref", "refs/custom/main", "main"]);
    yard.remove(".git/logs/refs/heads/main");
    yard.git(&["tag", "main"]);
    for reference in ["refs/custom/main", "refs/heads/main"] {
        let page = log(&yard, &of(reference));
        assert!(page.missing && page.entries.is_empty(), "{reference}");
    }
    let empty = Yard::new();
    assert!(log(&empty, &of("HEAD")).missing);
}

#[test]
fn names_are_checked() {
    let yard = used();
    for reference in ["", "-x", "a\nb", "HEAD:x"] {
        let answer = yard.open().reflog(&of(reference), &GO_ON);
        assert!(
            matches!(answer, Err(Error::InvalidRevision { .. })),
            "{reference:?}"
        );
    }
    for reference in [
        "missing",
        "../config",
        "refs/heads/../../config",
        "config",
        "HEAD@{1}",
        "topic",
    ] {
        let answer = yard.open().reflog(&of(reference), &GO_ON);
        assert!(
            matches!(answer, Err(Error::UnknownRevision { .. })),
            "{reference:?}"
        );
    }
}

#[test]
fn logs_do_not_lead_outside() {
    let yard = used();
    let repository = yard.open();
    let secret = yard.outside().join("secret");
    std::fs::copy(yard.path(".git/logs/HEAD"), &secret).unwrap();
    yard.remove(".git/logs/HEAD");
    yard.link(&secret, ".git/logs/HEAD");
    // The link came after the repository was checked.
    assert!(matches!(
        repository.reflog(&of("HEAD"), &GO_ON),
        Err(Error::ReadFile { .. })
    ));
}

#[test]
fn every_worktree_has_a_head_of_its_own() {
    let yard = used();
    yard.git(&["worktree", "add", "--quiet", "linked", "topic/deep"]);
    let linked = yard.try_open("linked").unwrap();
    let page = linked.reflog(&of("HEAD"), &GO_ON).unwrap();
    assert!(page.entries.len() < 3, "{page:?}");
    assert_eq!(
        linked.reflog(&of("main"), &GO_ON).unwrap(),
        log(&yard, &of("main"))
    );
}

#[test]
fn stashes() {
    let yard = used();
    assert_eq!(yard.open().stashes(10, &GO_ON).unwrap(), StashList::default());
    yard.write("file", "one\n");
    yard.git(&["stash"]);
    yard.write("file", "two\n");
    yard.git(&["stash", "push", "--message", "half: done"]);
    yard.git(&["checkout", "--quiet", "--detach"]);
    yard.write("file", "three\n");
    yard.git(&["stash"]);
    let list = yard.open().stashes(10, &GO_ON).unwrap();
    assert!(!list.more);
    let shown: Vec<(usize, &str, Option<&str>, &str)> = list
        .stashes
        .iter()
        .map(|stash| {
            (
                stash.index,
                stash.selector.as_str(),
                stash.branch.as_deref(),
                stash.description.as_str(),
            )
        })
        .collect();
    let short = yard.git(&["rev-parse", "--short", "main"]);
    let on_main = format!("{} second: with a colon", short.trim());
    assert_eq!(
        shown,
        [
            (0, "stash@{0}", None, on_main.as_str()),
            (1, "stash@{1}", Some("main"), "half: done"),
            (2, "stash@{2}", Some("main"), on_main.as_str()),
        ]
    );
    for stash in &list.stashes {
        let id = yard.git(&["rev-parse", &stash.selector]);
        assert_eq!(stash.id.to_string(), id.trim());
        let time = yard.git(&["log", "-1", "--format=%ct", &stash.selector]);
        assert_eq!(stash.at.as_second().to_string(), time.trim());
    }
    let cut = yard.open().stashes(2, &GO_ON).unwrap();
    assert_eq!((&cut.stashes[..], cut.more), (&list.stashes[..2], true));
}

#[test]
fn a_cancelled_log_ends() {
    let answer = used().open().reflog(&of("HEAD"), &AtomicBool::new(true));
    assert!(matches!(answer, Err(Error::Cancelled)));
}

#[test]
fn longer_hashes_are_read_too() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
    ]);
    yard.write("file", "1\n");
    yard.commit("first");
    yard.git(&["tag", "--annotate", "--message", "x", "tag"]);
    yard.write("file", "2\n");
    yard.git(&["stash"]);
    let repository = yard.open();
    let id = yard.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let log = repository.reflog(&of("main"), &GO_ON).unwrap();
    assert_eq!(
        (log.entries[0].id.to_string(), log.entries[0].previous),
        (id.clone(), None)
    );
    assert_eq!(repository.stashes(1, &GO_ON).unwrap().stashes.len(), 1);
    let tags = repository.tags(&TagQuery::default(), &GO_ON).unwrap().tags;
    assert_eq!(tags[0].target.to_string(), id);
    let branches = repository
        .branches(&BranchQuery::default(), &GO_ON)
        .unwrap()
        .branches;
    assert_eq!(branches[0].commit.to_string(), id);
    let worktrees = repository.worktrees(&GO_ON).unwrap().worktrees;
    assert_eq!(worktrees[0].head, Some(branches[0].commit));
    let query = LogQuery {
        stat: true,
        ..LogQuery::default()
    };
    let stat = yard.log(&query).commits.remove(0).stat.unwrap();
    assert_eq!((stat.files_changed, stat.insertions), (1, 1));
}
