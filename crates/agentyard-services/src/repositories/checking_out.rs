//! Checking out.

use std::path::Path;

use agentyard_git::{CheckedOut, CheckoutOptions, RepositoryPath, Revision};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// What to check out.
#[derive(Debug, Clone, Default)]
pub struct CheckoutRequest {
    /// A branch, a remote's branch, a tag or a commit; with `paths`, where the files come from.
    pub target: Option<String>,
    /// Make a branch of that name.
    pub create_branch: bool,
    /// Where a new branch begins.
    pub start_point: Option<String>,
    /// Check out the commit, not the branch.
    pub detach: bool,
    /// Whether a branch made for a remote's one follows it.
    pub track: Option<bool>,
    /// Throw local changes away.
    pub force: bool,
    /// Only restore these files.
    pub paths: Vec<String>,
    /// What is lost may be lost.
    pub confirm: bool,
}

impl Repositories {
    /// Checks out a branch or a commit, or restores files.
    ///
    /// # Errors
    /// When the caller may not write, there is no such thing, or local changes would be lost.
    pub async fn checkout(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: CheckoutRequest,
        progress: &Progress,
    ) -> Result<In<CheckedOut>> {
        self.change(caller, path, "git_checkout", progress, move |work| {
            work.checkout(&CheckoutOptions {
                target: request.target,
                create_branch: request.create_branch,
                start_point: request.start_point.map(Revision::new).transpose()?,
                detach: request.detach,
                track: request.track,
                force: request.force,
                paths: RepositoryPath::list(&request.paths)?,
                confirm: request.confirm,
            })
        })
        .await
    }
}
