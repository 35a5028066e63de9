//! Other ways through a history, as git goes them.

use agentyard_git::{Error, LogOrder, LogQuery, LogStart, Merges};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::log::from;
use crate::log_differential::{generated, of_cases, step, write_commit_graph};
use crate::support::{GO_ON, Yard};

/// A query in the words of git, and in ours.
type Option = (&'static str, fn(&mut LogQuery));

const OPTIONS: &[Option] = &[
    ("--topo-order", |query| query.order = LogOrder::Topological),
    ("--first-parent", |query| query.first_parent = true),
    ("--merges", |query| query.merges = Merges::Only),
    ("--no-merges", |query| query.merges = Merges::None),
    ("--branches --remotes --tags", |query| query.all_refs = true),
    ("-S2", |query| query.pickaxe = Some("2".to_owned())),
    ("-Sfour", |query| query.pickaxe = Some("four".to_owned())),
    ("--topo-order --branches --remotes --tags", |query| {
        query.order = LogOrder::Topological;
        query.all_refs = true;
    }),
    ("--first-parent -Sone", |query| {
        query.first_parent = true;
        query.pickaxe = Some("one".to_owned());
    }),
];

const PATHS: &[Option] = &[
    ("-- dir", |query| query.path = Some("dir".to_owned())),
    ("--topo-order -- dir/f1", |query| {
        query.order = LogOrder::Topological;
        query.path = Some("dir/f1".to_owned());
    }),
    ("--first-parent -- f0", |query| {
        query.first_parent = true;
        query.path = Some("f0".to_owned());
    }),
    ("-S1 -- dir", |query| {
        query.pickaxe = Some("1".to_owned());
        query.path = Some("dir".to_owned());
    }),
    ("--follow -- f0", |query| {
        query.follow = true;
        query.path = Some("f0".to_owned());
    }),
    ("--follow -- dir/deep/f2", |query| {
        query.follow = true;
        query.path = Some("dir/deep/f2".to_owned());
    }),
    ("--follow --first-parent -- dir/f1", |query| {
        query.follow = true;
        query.first_parent = true;
        query.path = Some("dir/f1".to_owned());
    }),
];

proptest! {
    #![proptest_config(of_cases(8))]

    #[test]
    fn every_way_is_the_way_of_git(steps in vec(step(), 1..25), with_graph in any::<bool>()) {
        let yard = generated(&steps);
        yard.git(&["tag", "--annotate", "--message", "x", "annotated", "HEAD~0"]);
        yard.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
        write_commit_graph(&yard, with_graph);
        for (options, _) in OPTIONS.iter().chain(PATHS) {
            for range in ["HEAD", "b0..b1", "b0...b2"] {
                prop_assert_eq!(ours(&yard, range, options), theirs(&yard, range, options), "{} {}", range, options);
            }
        }
    }
}

fn query(range: &str, options: &str) -> LogQuery {
    let (_, apply) = OPTIONS
        .iter()
        .chain(PATHS)
        .find(|(words, _)| *words == options)
        .unwrap();
    let mut query = from(range);
    apply(&mut query);
    query
}

/// The ids; none when a branch of the range does not exist.
fn ours(yard: &Yard, range: &str, options: &str) -> std::option::Option<Vec<String>> {
    let page = yard.open().log(&query(range, options), &GO_ON).ok()?;
    Some(page.commits.iter().map(|commit| commit.id.to_string()).collect())
}

fn theirs(yard: &Yard, range: &str, options: &str) -> std::option::Option<Vec<String>> {
    let (options, path) = options.split_once("-- ").unwrap_or((options, ""));
    let mut arguments = vec!["log", "--format=%H", range];
    arguments.extend(options.split_whitespace());
    arguments.push("--");
    arguments.extend(path.split_whitespace());
    let output = yard.try_git_in(&yard.root(), &arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output
        .status
        .success()
        .then(|| text.lines().map(str::to_owned).collect())
}

#[test]
fn a_merge_of_what_is_left_out_is_left_out_where_only_first_parents_are_followed() {
    let yard = Yard::with_commit();
    yard.git(&["branch", "b2"]);
    yard.git(&["switch", "--quiet", "--create", "b0"]);
    yard.write("f0", "one\n");
    yard.commit("f0");
    yard.git(&["switch", "--quiet", "b2"]);
    yard.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "b0"]);
    for range in ["b0..b2", "b0...b2"] {
        let options = "--first-parent -- f0";
        assert_eq!(theirs(&yard, range, options), Some(Vec::new()), "{range}");
        assert_eq!(ours(&yard, range, options), Some(Vec::new()), "{range}");
    }
    let whole = ours(&yard, "b2", "--first-parent -- f0").unwrap();
    assert_eq!(whole.len(), 1, "{whole:?}");
}

#[test]
fn pages_of_all_references_go_on() {
    let yard = crate::log::history();
    let whole = LogQuery {
        all_refs: true,
        ..from("HEAD")
    };
    let whole = yard.log(&whole).commits;
    let mut start = LogStart::Revision(agentyard_git::Revision::head());
    let mut read = Vec::new();
    loop {
        let page = yard.log(&LogQuery {
            start,
            all_refs: true,
            max_count: 2,
            skip: read.len(),
            ..LogQuery::default()
        });
        read.extend(page.commits);
        if !page.more {
            break;
        }
        start = LogStart::Tips(page.tips);
    }
    assert_eq!(read, whole);
    assert!(whole.len() > yard.log(&from("HEAD")).commits.len());
}

#[test]
fn all_references_of_an_unborn_branch() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "--orphan", "unborn"]);
    let query = LogQuery {
        all_refs: true,
        ..LogQuery::default()
    };
    assert_eq!(yard.log(&query).commits.len(), 1);
    assert_eq!(yard.log(&LogQuery::default()).commits.len(), 0);
}

#[test]
fn renames_are_followed_and_copies_too() {
    let yard = Yard::new();
    let lines = |changed: &str| format!("{changed}\n{}", "line\nanother line\nthird line\n".repeat(5));
    yard.write("a", lines("a"));
    yard.commit("added a");
    yard.write("unrelated", "x");
    yard.commit("unrelated");
    yard.git(&["mv", "a", "b"]);
    yard.commit("a to b");
    yard.write("dir/c", lines("c"));
    yard.commit("b copied to c");
    yard.write("dir/c", lines("changed"));
    yard.commit("changed c");
    let query = LogQuery {
        path: Some("dir/c".to_owned()),
        follow: true,
        ..from("HEAD")
    };
    let subjects = crate::log::subjects(&yard, &query);
    assert_eq!(subjects, ["changed c", "b copied to c", "a to b", "added a"]);
}

#[test]
fn to_follow_takes_a_path() {
    let yard = Yard::with_commit();
    for path in [None, Some(".".to_owned())] {
        let query = LogQuery {
            path,
            follow: true,
            ..LogQuery::default()
        };
        assert!(matches!(
            yard.open().log(&query, &GO_ON),
            Err(Error::InvalidPath { .. })
        ));
    }
}

#[test]
fn an_empty_text_finds_everything() {
    let yard = Yard::with_commit();
    let query = LogQuery {
        pickaxe: Some(String::new()),
        ..LogQuery::default()
    };
    assert_eq!(yard.log(&query).commits.len(), 1);
}
