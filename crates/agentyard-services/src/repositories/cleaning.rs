//! Removing what git does not know, and locks that were left behind.

use std::path::Path;

use agentyard_git::{CleanOptions, Cleaned, Lock, RepositoryPath};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// What to remove.
#[derive(Debug, Clone, Default)]
pub struct CleanRequest {
    /// Only say what would be removed.
    pub dry_run: bool,
    /// Directories too.
    pub directories: bool,
    /// Ignored files too.
    pub ignored: bool,
    /// Only what is here.
    pub paths: Vec<String>,
    /// What is lost may be lost.
    pub confirm: bool,
    /// Not files of the working tree, but lock files that nobody holds.
    pub stale_locks: bool,
}

/// What was removed.
#[derive(Debug)]
pub enum CleanOutcome {
    /// Files of the working tree.
    Files(Cleaned),
    /// The lock files there are, and which of them were removed.
    Locks(Vec<Lock>),
}

impl Repositories {
    /// Removes files that git does not know, or lock files that nobody holds.
    ///
    /// # Errors
    /// When the caller may not write, or something would be removed without a confirmation.
    pub async fn clean(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: CleanRequest,
        progress: &Progress,
    ) -> Result<In<CleanOutcome>> {
        self.change(caller, path, "git_clean", progress, move |work| {
            if request.stale_locks {
                let confirmed = request.confirm && !request.dry_run;
                return Ok(CleanOutcome::Locks(work.stale_locks(confirmed)?));
            }
            let options = CleanOptions {
                dry_run: request.dry_run,
                directories: request.directories,
                ignored: request.ignored,
                paths: RepositoryPath::list(&request.paths)?,
                confirm: request.confirm,
            };
            Ok(CleanOutcome::Files(work.clean(&options)?))
        })
        .await
    }
}
