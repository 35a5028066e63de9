//! Which workspace is meant.

use std::path::Path;

use agentyard_model::{Caller, RepoName, Workspace, WorkspaceId, WorkspaceState};

use super::Workspaces;
use crate::error::{Error, ErrorKind, Result, from_store};

/// A workspace in a caller's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceReference {
    /// By its id.
    Id(WorkspaceId),
    /// By its repository and branch.
    Branch {
        /// The repository.
        repo: RepoName,
        /// The branch.
        branch: String,
    },
}

impl WorkspaceReference {
    /// Reads `wsp_…` or `repository/branch`; none when the text is neither.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if let Ok(id) = text.parse() {
            return Some(Self::Id(id));
        }
        if text.starts_with(['/', '.']) {
            return None;
        }
        let (repo, branch) = text.split_once('/')?;
        Some(Self::Branch {
            repo: repo.parse().ok()?,
            branch: branch.to_owned(),
        })
    }

    /// As [`WorkspaceReference::read`], for a place where nothing else can stand.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).ok_or_else(|| {
            Error::invalid(format!(
                "`workspace`: expected an id (`{}_…`) or `repository/branch`, got `{}`",
                WorkspaceId::PREFIX,
                text.escape_debug().take(120).collect::<String>()
            ))
            .hint("workspace_list shows what there is")
        })
    }
}

impl Workspaces {
    /// The row of a workspace, in whatever state.
    pub(super) async fn row(&self, caller: &Caller, which: &WorkspaceReference) -> Result<Workspace> {
        let failed = |error| from_store("looking up the workspace", error);
        let found = match which {
            WorkspaceReference::Id(id) => self.0.store.workspaces().get(caller.tenant, *id).await,
            WorkspaceReference::Branch { repo, branch } => {
                let repo = self.0.repos.find(caller, repo.as_str()).await?;
                self.0
                    .store
                    .workspaces()
                    .find(caller.tenant, repo.id, branch)
                    .await
            }
        };
        found.map_err(failed)?.ok_or_else(|| {
            let shown = match which {
                WorkspaceReference::Id(id) => id.to_string(),
                WorkspaceReference::Branch { repo, branch } => format!("{repo}/{}", branch.escape_debug()),
            };
            Error::not_found(format!("there is no workspace `{shown}`"))
                .hint("workspace_list shows what there is; workspace_open makes one")
        })
    }

    /// As [`Workspaces::row`], of one that is open.
    pub(super) async fn open_row(&self, caller: &Caller, which: &WorkspaceReference) -> Result<Workspace> {
        let row = self.row(caller, which).await?;
        match row.state {
            WorkspaceState::Open => Ok(row),
            WorkspaceState::Opening | WorkspaceState::Closing => Err(Error::new(
                ErrorKind::Conflict,
                format!("the workspace {} is {} just now", row.id, row.state),
            )
            .hint("try again in a moment")),
            WorkspaceState::Closed => Err(Error::not_found(format!(
                "the workspace {} on {} is closed",
                row.id, row.branch
            ))
            .hint("workspace_open opens it again, as it was")),
        }
    }

    /// The workspace of which a directory is a part, when it is one of the caller's.
    pub(super) async fn row_of_directory(
        &self,
        caller: &Caller,
        directory: &Path,
    ) -> Result<Option<Workspace>> {
        let Some((key, name)) = self.0.trees.view_of(directory) else {
            return Ok(None);
        };
        let Ok(repo) = key.parse() else {
            return Ok(None);
        };
        self.0
            .store
            .workspaces()
            .by_name(caller.tenant, repo, &name)
            .await
            .map_err(|error| from_store("looking up the workspace", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_named_by_id_or_by_branch() {
        let id = WorkspaceId::new();
        assert_eq!(
            WorkspaceReference::read(&id.to_string()),
            Some(WorkspaceReference::Id(id))
        );
        assert_eq!(
            WorkspaceReference::read("web-shop/feature/foo"),
            Some(WorkspaceReference::Branch {
                repo: "web-shop".parse().unwrap(),
                branch: "feature/foo".to_owned(),
            })
        );
        for other in ["", ".", "/srv/x", "./x", "web-shop", "Web Shop/x"] {
            assert_eq!(WorkspaceReference::read(other), None, "{other}");
        }
    }
}
