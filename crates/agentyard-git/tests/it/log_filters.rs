//! Parts of the history: by author, by message, by time, by path.

use agentyard_git::{DayEdge, Error, LogQuery, parse_date};

use crate::log::{from, history, subjects};
use crate::support::{GO_ON, Yard};

#[test]
fn filters() {
    let yard = history();
    yard.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--author",
        "Zoë <zoe@example.com>",
        "--message",
        "Fix: ÄRGER in [brackets]",
    ]);
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
    assert!(page(0).more);
    assert!(page(2).more);
    assert!(!page(4).more);
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
    assert_eq!(of(r#""d\151r/other""#), ["main 5", "main 4"]);
    for path in ["/file", "../file", "a/../../b", "a\0b"] {
        let query = LogQuery {
            path: Some(path.to_owned()),
            ..from("HEAD")
        };
        assert!(
            matches!(yard.open().log(&query, &GO_ON), Err(Error::InvalidPath { .. })),
            "{path:?}"
        );
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
