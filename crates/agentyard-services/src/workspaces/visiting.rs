//! A person goes into a workspace, by the directory that it is.

use std::path::{Path, PathBuf};

use agentyard_model::{Caller, Permission};

use super::{WorkspaceReference, Workspaces};
use crate::error::Result;

impl Workspaces {
    /// The working tree of an open workspace, accessible to this process from now on.
    ///
    /// # Errors
    /// When the caller may not read, there is no such workspace, or it is not open.
    pub async fn visit(&self, caller: &Caller, which: &WorkspaceReference) -> Result<PathBuf> {
        caller.require(Permission::ProjectRead)?;
        Ok(self.enter(caller, which).await?.path().to_owned())
    }

    /// A directory in a workspace, accessible to this process from now on; none when it is in no workspace.
    ///
    /// # Errors
    /// When the caller may not read, or the workspace is not open.
    pub async fn visit_directory(&self, caller: &Caller, directory: &Path) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        let entered = self.enter_directory(caller, directory).await?;
        Ok(entered.map(|_| directory.to_owned()))
    }
}
