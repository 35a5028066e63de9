//! What a call would throw away, and whether it may.

use super::commit::some_of;
use crate::history::{History, distance};
use crate::{Error, ObjectId, Status, StatusOptions, Work};

/// What a call would throw away.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    /// Commits that would leave the branch.
    pub(crate) commits: usize,
    /// Files with changes that are in no commit.
    pub(crate) files: Vec<String>,
}

impl Loss {
    /// Refuses to go on without a confirmation. `call` is what was asked for, in words.
    pub(crate) fn require(&self, confirmed: bool, call: &str) -> Result<(), Error> {
        if confirmed {
            return Ok(());
        }
        let commits = match self.commits {
            0 => None,
            1 => Some("1 commit".to_owned()),
            more => Some(format!("{more} commits")),
        };
        let files = (!self.files.is_empty())
            .then(|| format!("changes that are in no commit, in {}", some_of(&self.files)));
        let lost: Vec<String> = commits.into_iter().chain(files).collect();
        let lost = if lost.is_empty() {
            "may throw changes away, although there are none now".to_owned()
        } else {
            format!("would throw away {}", lost.join(" and "))
        };
        Err(unconfirmed(format!("{call} {lost}")))
    }
}

/// The refusal of a call that throws something away, told in words, and that nobody has confirmed.
pub(crate) fn unconfirmed(what: impl std::fmt::Display) -> Error {
    Error::refused(
        format!("{what}; nothing was done"),
        "if that is meant, repeat the call with `confirm: true`: what is thrown away is first kept under \
         refs/agentyard/kept/ and named in the answer",
    )
}

impl Work<'_> {
    /// Files of the index and the working tree that differ from the last commit, untracked ones apart.
    pub(crate) fn unsaved_files(&self) -> Result<Vec<String>, Error> {
        let options = StatusOptions {
            untracked: false,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, self.cancel())?;
        Ok(unsaved(&status))
    }

    /// How many commits the first has in its history and the second has not.
    pub(crate) fn commits_lost(&self, from: Option<ObjectId>, to: ObjectId) -> Result<usize, Error> {
        let Some(from) = from else { return Ok(0) };
        let local = self.repository().local();
        let apart = distance(&mut History::new(&local)?, from.into(), to.into(), self.cancel())?;
        Ok(apart.ahead)
    }

    /// Whether a branch is one whose history is never rewritten.
    pub(crate) fn protects(&self, branch: Option<&str>) -> bool {
        branch.is_some_and(|branch| self.git().settings().protected_branches.cover(branch))
    }
}

/// Files that differ from the last commit, staged or not.
pub(crate) fn unsaved(status: &Status) -> Vec<String> {
    let unstaged = &status.unstaged;
    let conflicted = status.conflicted.iter().map(|file| &file.path);
    let mut files = status.staged.paths();
    files.extend(
        unstaged
            .modified
            .iter()
            .chain(&unstaged.deleted)
            .chain(&unstaged.added)
            .chain(&unstaged.type_changed)
            .chain(conflicted)
            .cloned(),
    );
    files.sort_unstable();
    files.dedup();
    files
}
