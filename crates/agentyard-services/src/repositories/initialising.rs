//! New repositories.

use std::path::Path;

use agentyard_git::{BranchName, InitOptions, Initialized, ObjectFormat};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission};

use super::Repositories;
use crate::error::Result;

/// What a new repository is to be like.
#[derive(Debug, Clone, Default)]
pub struct InitRequest {
    /// Its first branch; the person's `init.defaultBranch`, or `main`.
    pub initial_branch: Option<String>,
    /// Without a working tree.
    pub bare: bool,
    /// How its objects are named.
    pub object_format: ObjectFormat,
}

impl Repositories {
    /// Makes a repository. One that is there already is left as it is.
    ///
    /// # Errors
    /// When the caller may not write, or no repository can be made there.
    pub async fn init(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: InitRequest,
    ) -> Result<Initialized> {
        caller.require(Permission::ProjectWrite)?;
        let roots = self.places.roots_of(caller)?;
        let directory = match path {
            Some(path) if path.is_relative() => self.places.directory(caller, None).await?.join(path),
            path => self.places.directory(caller, path).await?,
        };
        let target = directory.display().to_string();
        let git = self.git.clone();
        let made = self
            .in_background(move |cancel| {
                let options = InitOptions {
                    initial_branch: request.initial_branch.map(BranchName::new).transpose()?,
                    bare: request.bare,
                    object_format: request.object_format,
                };
                git.init(&roots, &directory, &options, cancel)
            })
            .await;
        let outcome = if made.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, "git_init", target, outcome);
        self.audit.record_soon(event).await;
        made
    }
}
