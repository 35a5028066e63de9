//! Moving a branch, and unstaging.

use std::path::Path;

use agentyard_git::{RepositoryPath, ResetDone, ResetMode, ResetOptions, Revision};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// Where to go back to.
#[derive(Debug, Clone, Default)]
pub struct ResetRequest {
    /// What becomes of the index and the working tree.
    pub mode: ResetMode,
    /// The commit; what is checked out, when left out.
    pub target: Option<String>,
    /// Only unstage these.
    pub paths: Vec<String>,
    /// What is lost may be lost.
    pub confirm: bool,
}

impl Repositories {
    /// Moves the branch that is checked out, or unstages files.
    ///
    /// # Errors
    /// When the caller may not write, something would be lost without a confirmation, or commits would leave a
    /// protected branch.
    pub async fn reset(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: ResetRequest,
        progress: &Progress,
    ) -> Result<In<ResetDone>> {
        self.change(caller, path, "git_reset", progress, move |work| {
            work.reset(&ResetOptions {
                mode: request.mode,
                target: request
                    .target
                    .map_or_else(|| Ok(Revision::head()), Revision::new)?,
                paths: RepositoryPath::list(&request.paths)?,
                confirm: request.confirm,
            })
        })
        .await
    }
}
