//! Merges.

use std::path::Path;

use agentyard_git::{FastForward, Favor, MergeOptions, MergePreview, MergeStrategy, Merged, Revision};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// A merge to begin, to conclude or to give up.
#[derive(Debug, Clone, Default)]
pub struct MergeRequest {
    /// What to do.
    pub mode: MergeMode,
    /// What is merged.
    pub heads: Vec<String>,
    /// How.
    pub strategy: Option<MergeStrategy>,
    /// Which side wins where both changed the same lines.
    pub favor: Option<Favor>,
    /// Whether the branch may simply be moved forward.
    pub fast_forward: FastForward,
    /// Stage the changes only.
    pub squash: bool,
    /// The message of the merge commit.
    pub message: Option<String>,
    /// Whether to sign it.
    pub sign: Option<bool>,
    /// Merge what has no common ancestor.
    pub allow_unrelated_histories: bool,
}

/// What to do about a merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// Begin it.
    #[default]
    Start,
    /// Find out whether it would conflict.
    Preview,
    /// Conclude it, all being resolved.
    Continue,
    /// Give it up.
    Abort,
}

/// What came of it.
#[derive(Debug)]
pub enum MergeAnswer {
    /// A merge, as far as it went.
    Merged(Merged),
    /// What would come of it.
    Preview(MergePreview),
}

impl Repositories {
    /// Merges, and concludes or gives up a merge.
    ///
    /// # Errors
    /// When the caller may not write, a head names nothing, local changes are in the way, or there is no merge to
    /// go on with. Conflicts are no error.
    pub async fn merge(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: MergeRequest,
        progress: &Progress,
    ) -> Result<In<MergeAnswer>> {
        self.change(caller, path, "git_merge", progress, move |work| {
            let options = MergeOptions {
                heads: request
                    .heads
                    .iter()
                    .map(Revision::new)
                    .collect::<std::result::Result<_, _>>()?,
                strategy: request.strategy,
                favor: request.favor,
                fast_forward: request.fast_forward,
                squash: request.squash,
                message: request.message.clone(),
                sign: request.sign,
                allow_unrelated_histories: request.allow_unrelated_histories,
            };
            Ok(match request.mode {
                MergeMode::Start => MergeAnswer::Merged(work.merge(&options)?),
                MergeMode::Preview => MergeAnswer::Preview(work.preview_merge(&options)?),
                MergeMode::Continue => {
                    MergeAnswer::Merged(work.continue_merge(request.message.as_deref(), request.sign)?)
                }
                MergeMode::Abort => MergeAnswer::Merged(work.abort_merge()?),
            })
        })
        .await
    }
}
