//! Changing a repository, through the git program.

mod add;
mod blame;
mod branch;
mod carry;
mod checkout;
mod cherry_pick;
mod clean;
mod clone;
mod commit;
mod diff;
mod fetch;
mod integrate;
mod merge;
mod pull;
mod push;
mod rebase;
mod remote;
mod reset;
mod stash;
mod tag;
mod worktree;

mod changed_files;
mod in_progress;
mod in_the_way;
mod keep;
pub(crate) mod locks;
mod loss;
mod progress;
mod saved_index;
mod signing;
mod stale_locks;

use std::sync::atomic::AtomicBool;

use crate::program::{Git, Invocation, LeftOut, Trust, left_out};
use crate::{Error, Object, ObjectName, Repository};
pub use add::{AddOptions, Added};
pub use blame::{Blame, BlameBlock, BlameQuery, MAX_BLAME_LINES, Moves};
pub use branch::{BranchChange, BranchCreation, BranchDeletion, BranchRename};
pub use carry::Carried;
pub use changed_files::ChangedFiles;
pub use checkout::{CheckedOut, CheckoutOptions};
pub use cherry_pick::{CherryPickOptions, CherryPickResult, CherryPicked};
pub use clean::{CleanOptions, Cleaned};
pub use clone::{CloneOptions, Cloned};
pub use commit::{CommitOptions, Committed, Lines};
pub use diff::{Between, Change, ChangedFile, Diff, DiffQuery};
pub(crate) use fetch::ref_changes;
pub use fetch::{FetchOptions, Fetched, RefChange};
pub use integrate::{Integrated, Integration, IntegrationResult};
pub use keep::Kept;
pub use merge::{FastForward, Favor, MergeOptions, MergePreview, MergeResult, MergeStrategy, Merged};
pub use progress::Progress;
pub use pull::{PullOptions, Pulled};
pub(crate) use push::PushTurns;
pub use push::{PushOptions, PushOutcome, Pushed, PushedRef};
pub use rebase::{RebaseOptions, RebaseResult, RebaseStop, Rebased};
pub use remote::RemovedRemote;
pub use reset::{ResetDone, ResetMode, ResetOptions};
pub use stale_locks::Lock;
pub use stash::{StashContent, StashOptions, StashSelector, Unstashed};
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

    /// The flag that ends it when set.
    pub fn cancel(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// The same work, which only this flag ends.
    #[must_use]
    pub fn cancelled_by(&self, cancel: &'a AtomicBool) -> Self {
        Self { cancel, ..*self }
    }

    /// The object of a name.
    pub fn object(&self, name: &ObjectName) -> Result<Object, Error> {
        self.repository.object(name, self.cancel)
    }

    pub(crate) fn reporter(&self) -> &'a (dyn Fn(Progress) + Sync) {
        self.report
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
