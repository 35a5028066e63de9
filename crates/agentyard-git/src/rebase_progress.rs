//! How far a rebase in progress is, by the notes that git keeps of it.

use std::os::fd::OwnedFd;

use crate::descriptor::{open_child_directory, read_child_file};
use crate::{ObjectId, Repository, text};

/// A rebase that waits to be continued, skipped or aborted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebaseProgress {
    /// The branch that is rebased; none when HEAD was detached.
    pub branch: Option<String>,
    /// The commit that the others are put on.
    pub onto: Option<ObjectId>,
    /// The step at which it waits, from one.
    pub step: usize,
    /// How many steps there are.
    pub total: usize,
    /// The commit at which it waits.
    pub commit: Option<ObjectId>,
}

/// The notes are short; the longest holds the name of a branch.
const NOTE_LIMIT: usize = 4096;

impl Repository {
    /// How far a rebase in progress is; none without one.
    pub fn rebase_progress(&self) -> Option<RebaseProgress> {
        let git_dir = self.confined_git_dir().directory();
        let (notes, step, total) = match open_child_directory(git_dir, b"rebase-merge") {
            Ok(notes) => (Notes(notes), "msgnum", "end"),
            Err(_) => {
                let notes = Notes(open_child_directory(git_dir, b"rebase-apply").ok()?);
                // `git am` uses the same directory.
                notes.read("rebasing")?;
                (notes, "next", "last")
            }
        };
        let number = |name| notes.read(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let commit = |name| notes.read(name).and_then(|text| text.parse().ok());
        Some(RebaseProgress {
            branch: notes
                .read("head-name")
                .and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
            onto: commit("onto"),
            step: number(step),
            total: number(total),
            commit: commit("stopped-sha").or_else(|| commit("original-commit")),
        })
    }
}

struct Notes(OwnedFd);

impl Notes {
    fn read(&self, name: &str) -> Option<String> {
        let content = read_child_file(&self.0, name.as_bytes(), NOTE_LIMIT).ok()??;
        Some(
            text::one_line(&String::from_utf8_lossy(&content))
                .trim()
                .to_owned(),
        )
    }
}
