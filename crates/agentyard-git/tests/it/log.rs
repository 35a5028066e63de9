//! The history, read page by page.

use std::sync::atomic::AtomicBool;

use agentyard_git::{
    DayEdge, DecorationKind, Error, LogQuery, LogStart, LogTips, ObjectId, Revision, StatusOptions, parse_date,
};
use expect_test::expect;

use crate::support::{GO_ON, Yard, message};

fn from(revision: &str) -> LogQuery {
    LogQuery {
        start: LogStart::Revision(Revision::new(revision).unwrap()),
        max_count: 100,
        ..LogQuery::default()
    }
}

fn subjects(yard: &Yard, query: &LogQuery) -> Vec<String> {
    yard.log(query).commits.into_iter().map(|commit| commit.subject).collect()
}

/// `main` with five commits, and `topic` with two more after the third.
fn history() -> Yard {
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
    yard.git(&["commit", "--quiet", "--message", "Subject\nover two lines\n\nBody\n\tindented\n\nTrailer: x\n"]);
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
    assert_eq!((commit.author.name.as_str(), commit.author.email.as_str()), ("Ada", "ada@example.org"));
    assert_eq!(commit.committer.name, "Grace");
    assert_eq!(commit.author.at.to_string(), yard.git(&["log", "-1", "--format=%ad", "--date=format:%Y-%m-%dT%H:%M:%SZ"]).trim());
    let refs: Vec<String> = commit.refs.iter().map(|found| format!("{:?} {}", found.kind, found.name)).collect();
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
    assert_eq!(subjects(&yard, &from("main...topic")), ["topic 2", "topic 1", "main 5", "main 4"]);
    assert_eq!(subjects(&yard, &from("main..main")), [""; 0]);
    assert_eq!(subjects(&yard, &from("HEAD~2")), ["main 3", "main 2", "main 1"]);
    assert_eq!(subjects(&yard, &from("topic@{1}"))[0], "topic 1");
}

#[test]
fn revisions_that_name_nothing_are_said_to() {
    let yard = history();
    let log = |revision: &str| message(yard.open().log(&from(revision), &GO_ON));
    assert_eq!(log("nope"), r#""nope" does not name a commit of this repository"#);
    assert_eq!(log("HEAD^{tree}"), r#""HEAD^{tree}" does not name a commit of this repository"#);
    assert_eq!(log("main..nope"), r#""main..nope" does not name a commit of this repository"#);
    assert_eq!(log("^main"), r#""^main" is not a revision: name a commit, or a range with `..` or `...`"#);
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
    let seen: Vec<String> = pages.iter().flat_map(|page| &page.commits).map(|commit| commit.subject.clone()).collect();
    assert_eq!(seen, ["main 5", "main 4", "main 3", "main 2", "main 1"]);
    assert_eq!(pages.iter().map(|page| page.more).collect::<Vec<_>>(), [true, true, false]);
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
fn filters() {
    let yard = history();
    yard.git(&["commit", "--quiet", "--allow-empty", "--author", "Zoë <zoe@example.com>", "--message", "Fix: ÄRGER in [brackets]"]);
    let find = |author: Option<&str>, grep: Option<&str>| {
        subjects(
            &yard,
            &LogQuery {
                author: author.map(str::to_owned),
                grep: grep.map(str::to_owned),
                ..from("HEAD")
            },
        )
    };
    assert_eq!(find(Some("ZOË"), None).len(), 1);
    assert_eq!(find(Some("zoe@example.COM>"), None).len(), 1);
    assert_eq!(find(Some("ada"), None).len(), 5);
    assert_eq!(find(Some("."), None).len(), 6);
    assert_eq!(find(Some(".*"), None).len(), 0);
    assert_eq!(find(None, Some("ärger in [b")).len(), 1);
    assert_eq!(find(Some("ada"), Some("MAIN 3")), ["main 3"]);
    assert_eq!(find(Some(""), Some("")).len(), 6);
}

#[test]
fn filtered_pages_know_whether_more_follows() {
    let yard = history();
    let page = |skip| {
        yard.log(&LogQuery {
            grep: Some("main".to_owned()),
            max_count: 2,
            skip,
            ..LogQuery::default()
        })
    };
    assert_eq!(page(0).more, true);
    assert_eq!(page(2).more, true);
    assert_eq!(page(4).more, false);
    assert_eq!(page(4).commits.len(), 1);
    assert_eq!(page(5).commits.len(), 0);
}

#[test]
fn periods_include_their_ends() {
    let yard = history();
    let all = yard.log(&from("main")).commits;
    let query = LogQuery {
        since: Some(all[3].committer.at),
        until: Some(all[1].committer.at),
        ..from("main")
    };
    assert_eq!(subjects(&yard, &query), ["main 4", "main 3", "main 2"]);
    let day = |edge| Some(parse_date("2020-09-13", edge, all[0].committer.at).unwrap());
    let query = LogQuery {
        since: day(DayEdge::Start),
        until: day(DayEdge::End),
        ..from("main")
    };
    assert_eq!(subjects(&yard, &query).len(), 5);
}

#[test]
fn the_history_of_a_path() {
    let yard = history();
    yard.remove("file");
    yard.commit("removed");
    let of = |path: &str| {
        subjects(
            &yard,
            &LogQuery {
                path: Some(path.to_owned()),
                ..from("HEAD")
            },
        )
    };
    assert_eq!(of("file"), ["removed", "main 3", "main 2", "main 1"]);
    assert_eq!(of("dir"), ["main 5", "main 4"]);
    assert_eq!(of("./dir//other/"), ["main 5", "main 4"]);
    assert_eq!(of("dir/other/deeper"), [""; 0]);
    assert_eq!(of("missing"), [""; 0]);
    assert_eq!(of(".").len(), 6);
    for path in ["/file", "../file", "a/../../b", "a\0b"] {
        let query = LogQuery {
            path: Some(path.to_owned()),
            ..from("HEAD")
        };
        assert!(matches!(yard.open().log(&query, &GO_ON), Err(Error::InvalidPath { .. })), "{path:?}");
    }
}

#[test]
fn a_merge_belongs_to_a_path_only_if_it_changed_it() {
    let yard = history();
    yard.git(&["merge", "--quiet", "--no-edit", "topic"]);
    let of = |yard: &Yard, path: &str| {
        subjects(
            yard,
            &LogQuery {
                path: Some(path.to_owned()),
                ..from("HEAD")
            },
        )
    };
    assert_eq!(of(&yard, "topic"), ["topic 2", "topic 1"]);
    yard.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    yard.write("topic", "in conflict\n");
    yard.commit("other");
    yard.try_git_in(&yard.root(), &["merge", "--quiet", "--no-edit", "main"]);
    yard.write("topic", "resolved\n");
    yard.commit("resolved");
    assert_eq!(of(&yard, "topic"), ["resolved", "other", "topic 2", "topic 1"]);
}

#[test]
fn terminal_sequences_are_stripped() {
    let yard = Yard::with_commit();
    yard.git(&["commit", "--quiet", "--allow-empty", "--author", "\u{1b}[31mEve\u{7} <e@x>", "--message", "\u{1b}]0;title\u{7}sub\u{9b}ject\u{202e}\n\nbo\u{1b}[2Jdy\r\n\tkept"]);
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
    assert!(repository.status(&StatusOptions::default(), &GO_ON).unwrap().is_clean());
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
    let kinds: Vec<_> = yard.log(&LogQuery::default()).commits[0].refs.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [DecorationKind::Head, DecorationKind::Branch]);
}

#[test]
fn a_sha256_history() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--object-format=sha256", "--initial-branch=main"]);
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
