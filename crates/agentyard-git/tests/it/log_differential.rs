//! Whatever the history, its log is the one that git gives.

use agentyard_git::{LogQuery, LogStart, Revision};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::support::Yard;

/// Something that adds to a history.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A commit that writes a file, at a time that may be the same as before, or earlier.
    Commit { file: u8, content: u8, seconds: u8 },
    /// A commit that moves a file, over another one perhaps, and may change it too.
    Move { from: u8, to: u8, change: bool },
    /// Go to another branch, made here if there is none of that name.
    Switch { branch: u8 },
    /// Merge another branch, for one side or the other where they conflict.
    Merge { branch: u8, ours: bool },
}

const FILES: [&str; 3] = ["f0", "dir/f1", "dir/deep/f2"];

/// Several lines, so that one file is similar to another; and one that is not text.
fn content_of(number: u8) -> String {
    match number {
        3 => "\0binary".to_owned(),
        _ => format!("{number}\none\ntwo\nthree {number}\nfour\nfive\nsix\n"),
    }
}

/// So many histories, of which a failing one is made shorter but not written to disk.
pub(crate) fn of_cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}

/// A repository with the history that these steps make.
pub(crate) fn generated(steps: &[Step]) -> Yard {
    let yard = Yard::new();
    yard.commit("root");
    for step in steps {
        perform(&yard, step);
    }
    yard
}

/// With a commit-graph, gix and git read histories from another file.
pub(crate) fn write_commit_graph(yard: &Yard, wanted: bool) {
    if wanted {
        yard.git(&["commit-graph", "write", "--reachable"]);
    }
}

proptest! {
    #![proptest_config(of_cases(12))]

    #[test]
    fn log_is_what_git_says(steps in vec(step(), 1..25), with_graph in any::<bool>()) {
        let yard = generated(&steps);
        write_commit_graph(&yard, with_graph);
        let ranges = ["HEAD", "b0..b1", "b1..HEAD", "b0...b1", "HEAD~1..b2"];
        for range in ranges {
            for path in [None, Some("f0"), Some("dir"), Some("dir/f1")] {
                prop_assert_eq!(ours(&yard, range, path), theirs(&yard, range, path), "{} {:?}", range, path);
            }
        }
    }
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..3_u8, 0..4_u8, 0..4_u8).prop_map(|(file, content, seconds)| Step::Commit { file, content, seconds }),
        2 => (0..3_u8, 0..3_u8, any::<bool>()).prop_map(|(from, to, change)| Step::Move { from, to, change }),
        2 => (0..3_u8).prop_map(|branch| Step::Switch { branch }),
        2 => (0..3_u8, any::<bool>()).prop_map(|(branch, ours)| Step::Merge { branch, ours }),
    ]
}

pub(crate) fn perform(yard: &Yard, step: &Step) {
    let root = yard.root();
    match *step {
        Step::Commit {
            file,
            content,
            seconds,
        } => {
            yard.write(FILES[usize::from(file)], content_of(content));
            yard.git(&["add", "--all"]);
            let date = format!("{} +0000", 1_600_000_000 + u64::from(seconds));
            // The committer's date is what the log is sorted by; it comes from the environment, or from here.
            let tree = yard.git(&["write-tree"]);
            let parent = yard.git(&["rev-parse", "HEAD"]);
            let raw = format!(
                "tree {}\nparent {}\nauthor A <a@x> {date}\ncommitter A <a@x> {date}\n\nstep {file} {content}\n",
                tree.trim(),
                parent.trim()
            );
            yard.write(".git/raw", raw);
            let id = yard.git(&["hash-object", "-t", "commit", "-w", ".git/raw"]);
            yard.git(&["reset", "--quiet", "--soft", id.trim()]);
        }
        Step::Move { from, to, change } => {
            let (from, to) = (FILES[usize::from(from)], FILES[usize::from(to)]);
            if from != to && yard.path(from).exists() {
                let mut content = std::fs::read(yard.path(from)).unwrap();
                if change {
                    content.extend_from_slice(b"moved\n");
                }
                yard.remove(from);
                yard.write(to, content);
                yard.commit("moved");
            }
        }
        Step::Switch { branch } => {
            let name = format!("b{branch}");
            if !yard
                .try_git_in(&root, &["checkout", "--quiet", &name])
                .status
                .success()
            {
                yard.git(&["checkout", "--quiet", "-b", &name]);
            }
        }
        Step::Merge { branch, ours } => {
            let strategy = if ours { "-Xours" } else { "-Xtheirs" };
            let merged = yard.try_git_in(
                &root,
                &[
                    "merge",
                    "--quiet",
                    "--no-edit",
                    "--no-ff",
                    strategy,
                    &format!("b{branch}"),
                ],
            );
            if !merged.status.success() {
                yard.try_git_in(&root, &["merge", "--abort"]);
            }
        }
    }
}

/// The ids, read in pages of three; none when a branch of the range does not exist.
fn ours(yard: &Yard, range: &str, path: Option<&str>) -> Option<Vec<String>> {
    let repository = yard.open();
    let mut start = LogStart::Revision(Revision::new(range).unwrap());
    let mut ids = Vec::new();
    loop {
        let query = LogQuery {
            start,
            max_count: 3,
            skip: ids.len(),
            path: path.map(str::to_owned),
            ..LogQuery::default()
        };
        let page = repository.log(&query, &crate::support::GO_ON).ok()?;
        ids.extend(page.commits.iter().map(|commit| commit.id.to_string()));
        if !page.more {
            return Some(ids);
        }
        start = LogStart::Tips(page.tips);
    }
}

fn theirs(yard: &Yard, range: &str, path: Option<&str>) -> Option<Vec<String>> {
    let mut arguments = vec!["log", "--format=%H", range, "--"];
    arguments.extend(path);
    let output = yard.try_git_in(&yard.root(), &arguments);
    output.status.success().then(|| {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    })
}
