//! Cloning.

use std::path::{Path, PathBuf};

use agentyard_git::{self as git, BranchName, CloneOptions, Cloned, RemoteUrl};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission};

use super::Repositories;
use crate::error::Result;
use crate::progress::Progress;

/// What to clone, and where to.
#[derive(Debug, Clone, Default)]
pub struct CloneRequest {
    /// From where.
    pub url: String,
    /// Where to: absolute, or relative to the working directory. Ending in a slash, it is the directory in which
    /// one called like the repository is made.
    pub path: PathBuf,
    /// The branch to check out.
    pub branch: Option<String>,
    /// So many commits of history.
    pub depth: Option<u32>,
    /// Only one branch.
    pub single_branch: bool,
    /// Without a working tree.
    pub bare: bool,
    /// Without a working tree, and with every reference of the remote.
    pub mirror: bool,
}

impl Repositories {
    /// Clones a repository into the roots.
    ///
    /// # Errors
    /// When the caller may not write, the address or the path may not be used, or the remote does not answer.
    pub async fn clone_repository(
        &self,
        caller: &Caller,
        request: CloneRequest,
        progress: &Progress,
    ) -> Result<Cloned> {
        caller.require(Permission::ProjectWrite)?;
        let roots = self.places.roots_of(caller)?;
        let path = self.new_directory(caller, &request.path).await?;
        let target = path.display().to_string();
        let git = self.git.clone();
        let progress = progress.clone();
        let result = self
            .connections
            .pass(move |cancel| {
                let url = RemoteUrl::parse(&request.url)?;
                let options = CloneOptions {
                    branch: request.branch.map(BranchName::new).transpose()?,
                    depth: request.depth,
                    single_branch: request.single_branch,
                    bare: request.bare,
                    mirror: request.mirror,
                    ..CloneOptions::new(url, &path)?
                };
                let report = |step: git::Progress| progress.report(step.done, step.total, step.stage);
                git.clone_repository(&roots, &options, cancel, &report)
            })
            .await;
        let outcome = if result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, "git_clone", target, outcome);
        self.audit.record(event).await;
        result
    }

    /// Where something new is to be made. Relative paths begin at the working directory.
    async fn new_directory(&self, caller: &Caller, path: &Path) -> Result<PathBuf> {
        if path.is_absolute() {
            return Ok(path.to_owned());
        }
        let base = self.places.directory(caller, None).await?;
        Ok(base.join(path))
    }
}
