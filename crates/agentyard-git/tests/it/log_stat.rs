//! How much commits changed, as git counts it.

use std::collections::BTreeMap;

use agentyard_git::{CommitStat, FileChange, FileStat, LineChange, LogQuery};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::log::from;
use crate::log_differential::{generated, of_cases, step};
use crate::support::Yard;

/// A line of `--numstat`: what was inserted and deleted, the path, and where it was before.
type Line = (String, String, String, Option<String>);

proptest! {
    #![proptest_config(of_cases(8))]

    #[test]
    fn numbers_are_those_of_git(steps in vec(step(), 1..25)) {
        let yard = generated(&steps);
        prop_assert_eq!(ours(&yard), theirs(&yard));
    }

    #[test]
    fn lines_are_counted_like_git_does(versions in vec(vec(0..12_u8, 0..60), 2..12), newline in any::<bool>()) {
        let yard = Yard::new();
        for version in &versions {
            let lines: Vec<String> = version.iter().map(|line| format!("line {line}")).collect();
            let mut content = lines.join("\n");
            if newline {
                content.push('\n');
            }
            yard.write("file", content);
            yard.commit("version");
        }
        prop_assert_eq!(ours(&yard), theirs(&yard));
    }
}

fn counted() -> LogQuery {
    LogQuery {
        stat: true,
        max_count: 1000,
        ..from("HEAD")
    }
}

/// Commits without changes are left out.
fn ours(yard: &Yard) -> BTreeMap<String, Vec<Line>> {
    let commits = yard.log(&counted()).commits.into_iter().filter_map(|commit| {
        let stat = commit.stat?;
        assert_eq!(stat.files.len(), stat.files_changed);
        Some((commit.id.to_string(), stat.files.iter().map(line).collect()))
    });
    commits
        .filter(|(_, lines): &(_, Vec<Line>)| !lines.is_empty())
        .collect()
}

fn line(file: &FileStat) -> Line {
    let (insertions, deletions) = match file.lines {
        LineChange::Counted {
            insertions,
            deletions,
        } => (insertions.to_string(), deletions.to_string()),
        LineChange::Binary => ("-".to_owned(), "-".to_owned()),
        LineChange::NotCompared => panic!("{file:?}"),
    };
    (insertions, deletions, file.path.clone(), file.from.clone())
}

fn theirs(yard: &Yard) -> BTreeMap<String, Vec<Line>> {
    let output = yard.shell("git rev-list HEAD | git diff-tree --stdin --root -r -M --numstat -z");
    let mut commits: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    let mut current = String::new();
    let mut records = output.split('\0').filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        match record.split('\t').collect::<Vec<_>>()[..] {
            [id] => current = id.trim().to_owned(),
            [insertions, deletions, path] => {
                let (path, from) = match path {
                    "" => {
                        let from = records.next().unwrap().to_owned();
                        (records.next().unwrap().to_owned(), Some(from))
                    }
                    path => (path.to_owned(), None),
                };
                let line = (insertions.to_owned(), deletions.to_owned(), path, from);
                commits.entry(current.clone()).or_default().push(line);
            }
            _ => panic!("unexpected record {record:?}"),
        }
    }
    commits
}

#[test]
fn every_kind_of_change() {
    let yard = Yard::new();
    yard.write("binary", "a\0b");
    yard.write("changed", "one\ntwo\nthree\n");
    yard.write("deleted", "gone\n");
    yard.write("mode", "same\n");
    yard.write("renamed", "long enough\nto be found\nagain\n");
    yard.write("retyped", "target");
    yard.write("became/directory", "x\n");
    yard.write("was/file", "y\n");
    yard.commit("before");
    yard.write("binary", "a\0c");
    yard.write("changed", "one\n2\nthree\nno newline");
    yard.remove("deleted");
    yard.set_executable("mode", true);
    yard.git(&["mv", "renamed", "new \"name\""]);
    yard.remove("retyped");
    yard.link("target", "retyped");
    yard.git(&["rm", "--quiet", "-r", "was"]);
    yard.write("was", "a file now\n");
    yard.write("added", "1\n2\n");
    yard.write("empty", "");
    yard.commit("after");
    assert_eq!(ours(&yard), unquoted(theirs(&yard)));

    let stat = yard.log(&counted()).commits.remove(0).stat.unwrap();
    let change = |path: &str| stat.files.iter().find(|file| file.path == path).unwrap().change;
    assert_eq!(change("added"), FileChange::Added);
    assert_eq!(change("changed"), FileChange::Modified);
    assert_eq!(change("deleted"), FileChange::Deleted);
    assert_eq!(change("mode"), FileChange::Modified);
    assert_eq!(change(r#""new \"name\"""#), FileChange::Renamed);
    assert_eq!(change("retyped"), FileChange::TypeChanged);
    let totals = yard.git(&["show", "--format=", "--shortstat", "-M", "HEAD"]);
    let expected = format!(
        "{} files changed, {} insertions(+), {} deletions(-)",
        stat.files_changed, stat.insertions, stat.deletions
    );
    assert!(totals.starts_with(&format!(" {expected}")), "{totals} {expected}");
}

/// With paths as we show them.
fn unquoted(commits: BTreeMap<String, Vec<Line>>) -> BTreeMap<String, Vec<Line>> {
    let shown = |path: String| agentyard_git::display_path(path.as_str().into());
    let lines = |lines: Vec<Line>| {
        let lines = lines.into_iter();
        lines
            .map(|(insertions, deletions, path, from)| (insertions, deletions, shown(path), from.map(shown)))
            .collect()
    };
    commits
        .into_iter()
        .map(|(id, of_commit)| (id, lines(of_commit)))
        .collect()
}

#[test]
fn merges_have_numbers_only_along_first_parents() {
    let yard = crate::log::history();
    yard.git(&["merge", "--quiet", "--no-edit", "topic"]);
    assert_eq!(yard.log(&counted()).commits[0].stat, None);
    let query = LogQuery {
        first_parent: true,
        ..counted()
    };
    let stat = yard.log(&query).commits.remove(0).stat.unwrap();
    let expected = yard.git(&["diff", "--numstat", "HEAD^1", "HEAD"]);
    assert_eq!(stat.files_changed, expected.lines().count());
}

#[test]
fn a_path_confines_the_numbers() {
    let yard = Yard::new();
    yard.write("a/one", "1\n");
    yard.write("b/two", "1\n2\n");
    yard.commit("both");
    let query = LogQuery {
        path: Some("b".to_owned()),
        ..counted()
    };
    let stat = yard.log(&query).commits.remove(0).stat.unwrap();
    assert_eq!((stat.files_changed, stat.insertions), (1, 2));
    assert_eq!(stat.files[0].path, "b/two");
    yard.git(&["mv", "b/two", "a/three"]);
    yard.commit("moved");
    let query = LogQuery {
        path: Some("a/three".to_owned()),
        follow: true,
        ..counted()
    };
    let commits = yard.log(&query).commits;
    let stats: Vec<&CommitStat> = commits
        .iter()
        .map(|commit| commit.stat.as_ref().unwrap())
        .collect();
    assert_eq!(
        (stats[0].files[0].from.as_deref(), stats[0].insertions),
        (Some("b/two"), 0)
    );
    assert_eq!(
        (stats[1].files[0].path.as_str(), stats[1].files.len()),
        ("b/two", 1)
    );
}

#[test]
fn numbers_are_counted_only_on_request() {
    let yard = Yard::with_commit();
    assert_eq!(yard.log(&from("HEAD")).commits[0].stat, None);
}
