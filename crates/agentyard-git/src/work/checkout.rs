//! `git checkout`: what is checked out, and files as they were.

mod place;
mod restore;

use super::in_the_way::named_files;
use super::loss::Loss;
use crate::program::{Finished, LeftOut};
use crate::raw_commit::RawCommit;
use crate::tree_diff::TreeDiff;
use crate::{BranchName, Error, Head, Kept, ObjectId, RepositoryPath, Revision, Work};
use place::Place;

/// What to check out.
#[derive(Debug, Clone, Default)]
pub struct CheckoutOptions {
    /// A branch, a remote's branch, a tag or a commit; a new branch's name with `create_branch`. With `paths`,
    /// where the files come from: the index, when left out.
    pub target: Option<String>,
    /// Make a branch.
    pub create_branch: bool,
    /// Where a new branch begins: at what is checked out, when left out.
    pub start_point: Option<Revision>,
    /// Check out the commit that a branch points to, not the branch.
    pub detach: bool,
    /// Whether a branch made for a remote's one follows it.
    pub track: Option<bool>,
    /// Throw local changes away.
    pub force: bool,
    /// Only restore these files.
    pub paths: Vec<RepositoryPath>,
    /// What is lost may be lost.
    pub confirm: bool,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedOut {
    pub previous: Head,
    pub head: Head,
    /// A branch was made.
    pub created: bool,
    /// How many files of the working tree are of another commit, or were restored.
    pub files_changed: usize,
    pub kept: Vec<Kept>,
    pub left_out: LeftOut,
}

impl Work<'_> {
    /// Checks out a branch or a commit, or restores files.
    pub fn checkout(&self, options: &CheckoutOptions) -> Result<CheckedOut, Error> {
        self.require_worktree("to check out into")?;
        if !options.paths.is_empty() {
            return self.restore(options);
        }
        let Some(target) = &options.target else {
            return Err(Error::invalid(
                "a call that names nothing to check out",
                "pass `target`, or `paths` to restore files",
            ));
        };
        let previous = self.repository().head()?;
        let place = self.place(target, options)?;
        let mut kept = None;
        if options.force {
            let loss = Loss {
                commits: 0,
                files: self.unsaved_files()?,
            };
            loss.require(options.confirm, &format!("a forced checkout of {place}"))?;
            kept = self.keep_changes("checkout", &[])?;
        }
        self.switch(&place, options.force)?;
        let head = self.repository().head()?;
        Ok(CheckedOut {
            created: place.creates(),
            files_changed: self.files_between(previous.commit, head.commit)?,
            previous,
            head,
            kept: kept.into_iter().collect(),
            left_out: self.left_out(&["post-checkout"]),
        })
    }

    fn switch(&self, place: &Place, force: bool) -> Result<(), Error> {
        let invocation = self
            .invoke("switch")
            .words(&["--quiet", "--no-guess"])
            // git takes ignored files for worthless; they may be the only copy of something.
            .word(if force {
                "--discard-changes"
            } else {
                "--no-overwrite-ignore"
            });
        let finished = place.say(invocation).run_whatever_it_answers()?;
        if finished.code == Some(0) {
            return Ok(());
        }
        Err(self.refused_switch(place, &finished))
    }

    fn refused_switch(&self, place: &Place, finished: &Finished) -> Error {
        let said = finished.said();
        if said.contains("cannot switch branch while") {
            return Error::state(
                format!(
                    "{place} was not checked out: {}",
                    said.trim_start_matches("fatal: ")
                ),
                "conclude or abort what is in progress first; git_status says what it is",
            );
        }
        let failure = finished.failure("switch", self.repository().shown());
        named_files(&format!("checking out {place}"), failure)
    }

    /// How many files differ between two commits, none standing for no file at all.
    fn files_between(&self, before: Option<ObjectId>, after: Option<ObjectId>) -> Result<usize, Error> {
        let local = self.repository().local();
        let tree = |commit: Option<ObjectId>| -> Result<Option<gix::ObjectId>, Error> {
            let Some(id) = commit else { return Ok(None) };
            let object = local
                .find_object(gix::ObjectId::from(id))
                .map_err(Error::read(format!("commit {id}")))?;
            let commit = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id })?;
            Ok(Some(commit.tree))
        };
        let diff = TreeDiff::new(&local, tree(before)?, tree(after)?, &[], self.cancel())?;
        Ok(diff.changes.len())
    }
}
