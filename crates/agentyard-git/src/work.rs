//! Changing a repository, through the git program.

mod add;
mod branch;
mod commit;
mod tag;
mod worktree;

mod keep;
pub(crate) mod locks;
mod progress;
mod saved_index;
mod signing;

use std::sync::atomic::AtomicBool;

use crate::program::{Git, Invocation, LeftOut, Trust, left_out};
use crate::{Error, Repository};
pub use add::{AddOptions, Added};
pub use branch::{BranchChange, BranchCreation, BranchDeletion, BranchRename};
pub use commit::{CommitOptions, Committed, Lines};
pub use keep::Kept;
pub use progress::Progress;
pub use tag::{SignatureKind, TagChange, TagCreation, TagVerification};
pub use worktree::{WorktreeAddition, WorktreeChange, WorktreeRemoval};

/// A repository, and the means to change it.
///
/// One file per noun holds what can be done: `work/<noun>.rs`, each an `impl Work` with one method per call.
pub struct Work<'a> {
    git: &'a Git,
    repository: &'a Repository,
    trust: Trust,
    cancel: &'a AtomicBool,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Work<'a> {
    /// Work in a repository that ends soon after `cancel` is set, and tells `report` how far it is.
    pub fn new(
        git: &'a Git,
        repository: &'a Repository,
        trust: Trust,
        cancel: &'a AtomicBool,
        report: &'a (dyn Fn(Progress) + Sync),
    ) -> Self {
        Self {
            git,
            repository,
            trust,
            cancel,
            report,
        }
    }

    /// The repository.
    pub fn repository(&self) -> &'a Repository {
        self.repository
    }

    pub(crate) fn git(&self) -> &'a Git {
        self.git
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    pub(crate) fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    pub(crate) fn report(&self, progress: Progress) {
        (self.report)(progress);
    }

    /// `git <verb>` in this repository.
    pub(crate) fn invoke(&self, verb: &'static str) -> Invocation<'_> {
        Invocation::new(self, verb)
    }

    /// Refuses what makes no sense without a working tree, which is wanted `to` do something.
    pub(crate) fn require_worktree(&self, to: &str) -> Result<(), Error> {
        if self.repository.worktree().is_some() {
            return Ok(());
        }
        Err(Error::state(
            format!(
                "the repository at {} is bare: it has no working tree {to}",
                self.repository.shown()
            ),
            "work in a clone of it, or in a working tree that git_worktree adds",
        ))
    }

    /// Which of these hooks, and which filters, the repository has and git was kept from running.
    pub(crate) fn left_out(&self, hooks: &[&str]) -> LeftOut {
        match self.trust {
            Trust::Trusted => LeftOut::default(),
            Trust::Untrusted => left_out(self.repository, hooks),
        }
    }
}
