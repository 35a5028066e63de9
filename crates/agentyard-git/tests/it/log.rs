//! The history, read page by page.

use std::sync::atomic::AtomicBool;

use agentyard_git::{DecorationKind, Error, LogQuery, LogStart, LogTips, ObjectId, Revision, StatusOptions};
use expect_test::expect;

use crate::support::{GO_ON, Yard, message};

pub(crate) fn from(revision: &str) -> LogQuery {
    LogQuery {
        start: LogStart::Revision(Revision::new(revision).unwrap()),
        max_count: 100,
        ..LogQuery::default()
    }
}

pub(crate) fn subjects(yard: &Yard, query: &LogQuery) -> Vec<String> {
    yard.log(query)
        .commits
        .into_iter()
        .map(|commit| commit.subject)
        .collect()
}

/// `main` with five commits, and `topic` with two more after the third.
pub(crate) fn history() -> Yard {
    let yard = Yard::new();
    for number in 1..=3 {
        yard.write("file", format!("{number}\n"));
        yard.commit(&format!("main {number}"));
    }
    yard.git(&["branch", "topic"]);
    for number in 4..=5 {
        yard.write("dir/other", format!("{number}\n"));
        yard.commit(&format!("main {number}"));
    }
    yard.git(&["checkout", "--quiet", "topic"]);
    for number in 1..=2 {
        yard.write("topic", format!("{number}\n"));
        yard.commit(&format!("topic {number}"));
    }
    yard.git(&["checkout", "--quiet", "main"]);
    yard
}

#[test]
fn commits_come_with_everything_about_them() {
    let yard = history();
    yard.write("file", "last\n");
    yard.git(&["add", "file"]);
    yard.git(&[
        "commit",
        "--quiet",
        "--message",
        "Subject\nover two lines\n\nBody\n\tindented\n\nTrailer: x\n",
    ]);
    yard.git(&["tag", "light"]);
    yard.git(&["tag", "--annotate", "--message", "annotated", "v1.0"]);
    yard.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    yard.git(&["pack-refs", "--all"]);
    yard.git(&["tag", "--annotate", "--message", "loose", "v1.1"]);

    let page = yard.log(&LogQuery::default());
    let commit = &page.commits[0];
    assert_eq!(page.tips.include, [commit.id]);
    assert!(commit.id.to_string().starts_with(&commit.short_id) && commit.short_id.len() == 7);
    assert_eq!(commit.parents, [page.commits[1].id]);
    assert_eq!(commit.subject, "Subject over two lines");
    assert_eq!(commit.body, "Body\n\tindented\n\nTrailer: x");
    assert_eq!(
        (commit.author.name.as_str(), commit.author.email.as_str()),
        ("Ada", "ada@example.org")
    );
    assert_eq!(commit.committer.name, "Grace");
    assert_eq!(
        commit.author.at.to_string(),
        yard.git(&["log", "-1", "--format=%ad", "--date=format:%Y-%m-%dT%H:%M:%SZ"])
            .trim()
    );
    let refs: Vec<String> = commit
        .refs
        .iter()
        .map(|found| format!("{:?} {}", found.kind, found.name))
        .collect();
    expect![[r#"
        [
            "Head HEAD",
            "Branch main",
            "RemoteBranch origin/main",
            "Tag light",
            "Tag v1.0",
            "Tag v1.1",
        ]
    "#]]
    .assert_debug_eq(&refs);
    assert_eq!(page.commits[1].refs, []);
}

#[test]
fn ranges() {
    let yard = history();
    assert_eq!(subjects(&yard, &from("main..topic")), ["topic 2", "topic 1"]);
    assert_eq!(subjects(&yard, &from("topic..main")), ["main 5", "main 4"]);
    assert_eq!(subjects(&yard, &from("topic..")), ["main 5", "main 4"]);
    assert_eq!(
        subjects(&yard, &from("main...topic")),
        ["topic 2", "topic 1", "main 5", "main 4"]
    );
    assert_eq!(subjects(&yard, &from("main..main")), [""; 0]);
    assert_eq!(subjects(&yard, &from("HEAD~2")), ["main 3", "main 2", "main 1"]);
    assert_eq!(subjects(&yard, &from("topic@{1}"))[0], "topic 1");
    assert_eq!(subjects(&yard, &from("@{-1}"))[0], "topic 2");
}

#[test]
fn upstreams_can_be_named() {
    let yard = history();
    yard.git(&["branch", "--quiet", "--set-upstream-to=main", "topic"]);
    assert_eq!(
        subjects(&yard, &from("topic@{upstream}..topic")),
        ["topic 2", "topic 1"]
    );
    yard.git(&["checkout", "--quiet", "topic"]);
    assert_eq!(subjects(&yard, &from("@{u}..")), ["topic 2", "topic 1"]);
    assert_eq!(subjects(&yard, &from("HEAD@{u}~1"))[0], "main 4");
    let unknown = yard.open().log(&from("main@{u}"), &GO_ON);
    assert!(matches!(unknown, Err(Error::UnknownRevision { .. })));
}

#[test]
fn revisions_that_name_nothing_are_said_to() {
    let yard = history();
    let log = |revision: &str| message(yard.open().log(&from(revision), &GO_ON));
    assert_eq!(log("nope"), r#""nope" does not name a commit of this repository"#);
    assert_eq!(
        log("HEAD^{tree}"),
        r#""HEAD^{tree}" does not name a commit of this repository"#
    );
    assert_eq!(
        log("main..nope"),
        r#""main..nope" does not name a commit of this repository"#
    );
    assert_eq!(
        log("^main"),
        r#""^main" is not a revision: name a commit, or a range with `..` or `...`"#
    );
}

#[test]
fn a_reference_that_looks_like_an_option_can_be_shown_by_its_full_name() {
    let yard = history();
    let id = yard.git(&["rev-parse", "HEAD~1"]);
    std::fs::write(yard.path(".git/refs/heads/--output=pwned"), id).unwrap();
    assert!(Revision::new("--output=pwned").is_err());
    assert_eq!(subjects(&yard, &from("refs/heads/--output=pwned"))[0], "main 4");
    assert!(!yard.path("pwned").exists());
}

#[test]
fn before_the_first_commit_the_log_is_empty() {
    let yard = Yard::new();
    let page = yard.log(&LogQuery::default());
    assert_eq!((page.commits, page.more), (vec![], false));
}

#[test]
fn pages_do_not_shift_when_commits_arrive() {
    let yard = history();
    let first = yard.log(&LogQuery {
        max_count: 2,
        ..LogQuery::default()
    });
    assert!(first.more);
    yard.commit("arrived meanwhile");
    let next = |skip| {
        yard.log(&LogQuery {
            start: LogStart::Tips(first.tips.clone()),
            max_count: 2,
            skip,
            ..LogQuery::default()
        })
    };
    let pages: Vec<_> = [0, 2, 4].into_iter().map(next).collect();
    assert_eq!(pages[0].commits[0].id, first.commits[0].id);
    let seen: Vec<String> = pages
        .iter()
        .flat_map(|page| &page.commits)
        .map(|commit| commit.subject.clone())
        .collect();
    assert_eq!(seen, ["main 5", "main 4", "main 3", "main 2", "main 1"]);
    assert_eq!(
        pages.iter().map(|page| page.more).collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[test]
fn a_cursor_with_an_unknown_commit_is_an_error() {
    let yard = history();
    let unknown: ObjectId = "1234567890123456789012345678901234567890".parse().unwrap();
    let query = LogQuery {
        start: LogStart::Tips(LogTips {
            include: vec![unknown],
            exclude: vec![],
        }),
        ..LogQuery::default()
    };
    assert!(matches!(yard.open().log(&query, &GO_ON), Err(Error::Read { .. })));
}

#[test]
fn terminal_sequences_are_stripped() {
    let yard = Yard::with_commit();
    yard.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--author",
        "\u{1b}[31mEve\u{7} <e@x>",
        "--message",
        "\u{1b}]0;title\u{7}sub\u{9b}ject\u{202e}\n\nbo\u{1b}[2Jdy\r\n\tkept",
    ]);
    let page = yard.log(&LogQuery::default());
    let commit = &page.commits[0];
    assert_eq!(commit.author.name, "[31mEve");
    assert_eq!(commit.subject, "]0;titlesubject");
    assert_eq!(commit.body, "bo[2Jdy\n\tkept");
}

#[test]
fn shallow_and_grafted_history_ends_where_it_was_cut() {
    let yard = history();
    let source = format!("file://{}", yard.root().display());
    yard.git(&["clone", "--quiet", "--depth=2", &source, "shallow"]);
    let repository = yard.try_open("shallow").unwrap();
    let page = repository.log(&LogQuery::default(), &GO_ON).unwrap();
    assert_eq!(page.commits.len(), 2);
    assert_eq!(page.commits[1].parents, []);
    assert!(
        repository
            .status(&StatusOptions::default(), &GO_ON)
            .unwrap()
            .is_clean()
    );
}

#[test]
fn the_commit_graph_changes_nothing() {
    let yard = history();
    let before = yard.log(&from("main...topic"));
    yard.git(&["commit-graph", "write", "--reachable"]);
    assert!(yard.path(".git/objects/info/commit-graph").exists());
    assert_eq!(yard.log(&from("main...topic")), before);
    yard.write(".git/objects/info/commit-graph", "broken");
    assert_eq!(yard.log(&from("main...topic")), before);
}

#[test]
fn remote_branches_and_detached_heads_are_told_apart() {
    let yard = history();
    yard.git(&["checkout", "--quiet", "--detach", "topic"]);
    let kinds: Vec<_> = yard.log(&LogQuery::default()).commits[0]
        .refs
        .iter()
        .map(|found| found.kind)
        .collect();
    assert_eq!(kinds, [DecorationKind::Head, DecorationKind::Branch]);
}

#[test]
fn a_sha256_history() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--object-format=sha256",
        "--initial-branch=main",
    ]);
    yard.commit("one");
    yard.commit("two");
    let id = yard.log(&LogQuery::default()).commits[1].id.to_string();
    assert_eq!(id.len(), 64);
    assert_eq!(subjects(&yard, &from(&id)), ["one"]);
}

#[test]
fn a_cancelled_log_ends() {
    let yard = history();
    for revision in ["main", "main..topic"] {
        let outcome = yard.open().log(&from(revision), &AtomicBool::new(true));
        assert!(matches!(outcome, Err(Error::Cancelled)));
    }
}
