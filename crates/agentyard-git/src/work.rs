//! Changing a repository, through the git program.

mod add;
mod clone;
mod fetch;
mod pull;
mod push;
mod remote;

mod keep;
pub(crate) mod locks;
mod progress;

use std::sync::atomic::AtomicBool;

use crate::Repository;
use crate::program::{Git, Invocation, LeftOut, Trust, left_out};
pub use add::{AddOptions, Added};
pub use clone::{CloneOptions, Cloned};
pub use fetch::{FetchOptions, Fetched, RefChange};
pub use keep::Kept;
pub use progress::Progress;
pub use pull::{PullOptions, PullStrategy, Pulled};
pub use push::{PushOptions, PushOutcome, Pushed, PushedRef};
pub use remote::RemovedRemote;

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

    pub(crate) fn reporter(&self) -> &'a (dyn Fn(Progress) + Sync) {
        self.report
    }

    /// `git <verb>` in this repository.
    pub(crate) fn invoke(&self, verb: &'static str) -> Invocation<'_> {
        Invocation::new(self, verb)
    }

    /// Which of these hooks, and which filters, the repository has and git was kept from running.
    pub(crate) fn left_out(&self, hooks: &[&str]) -> LeftOut {
        match self.trust {
            Trust::Trusted => LeftOut::default(),
            Trust::Untrusted => left_out(self.repository, hooks),
        }
    }
}
