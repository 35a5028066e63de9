//! Cherry-picks.

use std::path::Path;

use agentyard_git::{CherryPickOptions, CherryPicked, MergeStrategy, Revision};
use agentyard_model::Caller;

use super::{In, Repositories, SequenceMode};
use crate::error::Result;
use crate::progress::Progress;

/// Commits to make again here, or a cherry-pick to go on with or to give up.
#[derive(Debug, Clone, Default)]
pub struct CherryPickRequest {
    /// What to do.
    pub mode: SequenceMode,
    /// Commits and ranges.
    pub commits: Vec<String>,
    /// Make no commit.
    pub no_commit: bool,
    /// For a merge: which of its parents it is compared with.
    pub mainline: Option<u32>,
    /// How.
    pub strategy: Option<MergeStrategy>,
    /// Add a `Signed-off-by` line.
    pub signoff: bool,
    /// Add a line with the original's id.
    pub record_origin: bool,
    /// Keep commits that change nothing here.
    pub keep_empty: bool,
    /// Whether to sign the commits.
    pub sign: Option<bool>,
}

impl Repositories {
    /// Picks commits, and goes on with or gives up a cherry-pick or revert.
    ///
    /// # Errors
    /// When the caller may not write, a revision names nothing, local changes are in the way, or there is nothing
    /// to go on with. Conflicts are no error.
    pub async fn cherry_pick(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: CherryPickRequest,
        progress: &Progress,
    ) -> Result<In<CherryPicked>> {
        self.change(
            caller,
            path,
            "git_cherry_pick",
            progress,
            move |work| match request.mode {
                SequenceMode::Start => work.cherry_pick(&CherryPickOptions {
                    commits: request
                        .commits
                        .iter()
                        .map(Revision::new)
                        .collect::<std::result::Result<_, _>>()?,
                    no_commit: request.no_commit,
                    mainline: request.mainline,
                    strategy: request.strategy,
                    signoff: request.signoff,
                    record_origin: request.record_origin,
                    keep_empty: request.keep_empty,
                    sign: request.sign,
                }),
                SequenceMode::Continue => work.continue_cherry_pick(request.sign),
                SequenceMode::Skip => work.skip_cherry_pick(request.sign),
                SequenceMode::Abort => work.abort_cherry_pick(),
            },
        )
        .await
    }
}
