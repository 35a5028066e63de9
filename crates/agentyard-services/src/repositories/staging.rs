//! Staging.

use std::path::Path;

use agentyard_git::{AddOptions, Added, RepositoryPath};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// What to stage.
#[derive(Debug, Clone, Default)]
pub struct AddRequest {
    /// These files and directories.
    pub paths: Vec<String>,
    /// Everything that changed, new files included.
    pub all: bool,
    /// Only files that are tracked already.
    pub update: bool,
    /// Ignored files too.
    pub force: bool,
    /// A patch, which is applied to the index alone.
    pub patch: Option<String>,
}

impl Repositories {
    /// Stages changes.
    ///
    /// # Errors
    /// When the caller may not write, or there is nothing of that to stage.
    pub async fn add(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: AddRequest,
        progress: &Progress,
    ) -> Result<In<Added>> {
        self.change(caller, path, "git_add", progress, move |work| {
            work.add(&AddOptions {
                paths: RepositoryPath::list(&request.paths)?,
                all: request.all,
                update: request.update,
                force: request.force,
                patch: request.patch,
            })
        })
        .await
    }
}
