//! What a workspace must look like, and what it looks like.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::yard::git;

/// Files and their content.
pub(super) type Files = BTreeMap<String, String>;

/// How many files an agent has of its own, `own/0.txt` and so on.
pub(super) const FILES: usize = 4;

/// One agent's part of a working tree. What others do arrives in `other/`.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) head: Files,
    pub(super) index: Files,
    pub(super) tree: Files,
    /// The subjects of its commits, oldest first.
    pub(super) commits: Vec<String>,
    /// So many commits of others are in it at least.
    pub(super) others: usize,
}

impl State {
    /// Whether something is in it and in no commit.
    pub(super) fn has_unsaved(&self) -> bool {
        self.tree != self.head || self.index != self.head
    }

    /// Whether a state that was seen is this one.
    pub(super) fn is(&self, seen: &Self) -> bool {
        self.head == seen.head
            && self.index == seen.index
            && self.tree == seen.tree
            && self.commits == seen.commits
            && self.others <= seen.others
    }

    /// The state of a working tree, as a person with git sees it.
    pub(super) fn seen(path: &Path, branch: &str) -> Self {
        let status = git(path, &["status", "--porcelain", "--untracked-files=all"]);
        let foreign: Vec<&str> = status
            .lines()
            .filter(|line| !line[3..].starts_with("own/"))
            .collect();
        assert!(
            foreign.is_empty(),
            "{branch} has changes that nobody made: {foreign:?}"
        );
        let head = git(path, &["symbolic-ref", "HEAD"]);
        assert_eq!(head.trim(), format!("refs/heads/{branch}"));
        let log = git(path, &["log", "--first-parent", "--reverse", "--format=%s"]);
        let commits = log.lines().filter(|subject| subject.starts_with(branch));
        let mut contents = Contents::start(path);
        Self {
            head: contents.of("HEAD:"),
            index: contents.of(":"),
            tree: tree(path),
            commits: commits.map(ToOwned::to_owned).collect(),
            others: fs::read_dir(path.join("other")).map_or(0, Iterator::count),
        }
    }
}

pub(super) fn file(number: usize) -> String {
    format!("own/{number}.txt")
}

fn tree(path: &Path) -> Files {
    let entries = fs::read_dir(path.join("own")).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (format!("own/{name}"), fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

/// A git that tells what files hold, somewhere else than in the working tree.
struct Contents {
    child: std::process::Child,
}

impl Contents {
    fn start(path: &Path) -> Self {
        let child = Command::new("git")
            .args(["cat-file", "--batch"])
            .current_dir(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child }
    }

    fn of(&mut self, place: &str) -> Files {
        let input = self.child.stdin.as_mut().unwrap();
        for number in 0..FILES {
            writeln!(input, "{place}{}", file(number)).unwrap();
        }
        input.flush().unwrap();
        let mut output = BufReader::with_capacity(1, self.child.stdout.as_mut().unwrap());
        let mut files = Files::new();
        for number in 0..FILES {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let Some((_, size)) = line
                .trim_end()
                .rsplit_once(" blob ")
                .map(|(name, size)| (name, size.parse::<usize>().unwrap()))
            else {
                assert!(line.trim_end().ends_with("missing"), "{line}");
                continue;
            };
            let mut content = vec![0; size + 1];
            output.read_exact(&mut content).unwrap();
            content.pop();
            files.insert(file(number), String::from_utf8(content).unwrap());
        }
        files
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
