//! Rebases.

use std::path::Path;

use agentyard_git::{BranchName, RebaseOptions, Rebased, Revision};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// A rebase to begin, to go on with or to give up.
#[derive(Debug, Clone, Default)]
pub struct RebaseRequest {
    /// What to do.
    pub mode: SequenceMode,
    /// Commits that this has stay as they are.
    pub upstream: Option<String>,
    /// Where the commits are put.
    pub onto: Option<String>,
    /// The branch to rebase.
    pub branch: Option<String>,
    /// What becomes of each commit.
    pub plan: Vec<String>,
    /// Make merges anew.
    pub rebase_merges: bool,
    /// Put fixup commits where they belong.
    pub autosquash: bool,
    /// Whether to sign the commits.
    pub sign: Option<bool>,
}

/// What to do about commits that are made again one after another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SequenceMode {
    /// Begin.
    #[default]
    Start,
    /// Go on, all being resolved.
    Continue,
    /// Leave out the commit at which it waits.
    Skip,
    /// Give up.
    Abort,
}

impl Repositories {
    /// Rebases, and goes on with or gives up a rebase.
    ///
    /// # Errors
    /// When the caller may not write, a revision names nothing, there are uncommitted changes, pushed commits of
    /// a protected branch would be rewritten, or there is no rebase to go on with. Conflicts are no error.
    pub async fn rebase(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: RebaseRequest,
        progress: &Progress,
    ) -> Result<In<Rebased>> {
        self.change(caller, path, "git_rebase", progress, move |work| {
            match request.mode {
                SequenceMode::Start => work.rebase(&RebaseOptions {
                    upstream: request.upstream.map(Revision::new).transpose()?,
                    onto: request.onto.map(Revision::new).transpose()?,
                    branch: request.branch.map(BranchName::new).transpose()?,
                    plan: request.plan,
                    rebase_merges: request.rebase_merges,
                    autosquash: request.autosquash,
                    sign: request.sign,
                }),
                SequenceMode::Continue => work.continue_rebase(request.sign),
                SequenceMode::Skip => work.skip_rebase(request.sign),
                SequenceMode::Abort => work.abort_rebase(),
            }
        })
        .await
    }
}
