//! What there is to know about workspaces.

use std::path::PathBuf;

use agentyard_git::{Status, StatusOptions};
use agentyard_model::{
    Caller, Page, PageRequest, Permission, RepoName, Workspace, WorkspaceFilter, WorkspaceMeasure,
    WorkspaceState,
};

use super::{Entered, WorkspaceReference, Workspaces};
use crate::error::{Result, from_store};

/// A workspace, and what is known of it beside its row.
#[derive(Debug, Clone)]
pub struct WorkspaceDetails {
    /// Its row.
    pub row: Workspace,
    /// Its repository.
    pub repo: RepoName,
    /// Its working tree, while it has one.
    pub path: Option<PathBuf>,
    /// Whether its owner's lease goes on.
    pub in_use: bool,
    /// The state of its tree, when that was asked for.
    pub status: Option<Status>,
}

/// Workspaces, and what was counted of them.
#[derive(Debug)]
pub struct WorkspaceListing {
    /// So many of them.
    pub workspaces: Page<WorkspaceDetails>,
    /// What was counted since the beginning.
    pub totals: Vec<WorkspaceMeasure>,
}

/// A status in passing: as many paths of each kind as anybody reads.
const MAX_PATHS: usize = 1000;

impl Workspaces {
    /// The caller's workspaces, newest first.
    ///
    /// # Errors
    /// When the caller may not read, the repository is unknown, or the cursor is not one of this list's.
    pub async fn list(
        &self,
        caller: &Caller,
        repo: Option<&RepoName>,
        closed: bool,
        page: &PageRequest,
    ) -> Result<WorkspaceListing> {
        caller.require(Permission::ProjectRead)?;
        let repo = match repo {
            Some(name) => Some(self.0.repos.find(caller, name.as_str()).await?.id),
            None => None,
        };
        let filter = WorkspaceFilter {
            repo,
            owner: None,
            closed,
        };
        let rows = self
            .0
            .store
            .workspaces()
            .list(caller.tenant, &filter, page)
            .await
            .map_err(|error| from_store("listing the workspaces", error))?;
        let totals = self.0.measures.totals(caller.tenant, repo).await?;
        let mut items = Vec::with_capacity(rows.items.len());
        for row in rows.items {
            items.push(self.details(row).await?);
        }
        Ok(WorkspaceListing {
            workspaces: Page {
                items,
                next: rows.next,
            },
            totals,
        })
    }

    /// Writes down what was counted and is not in the store yet.
    pub(crate) async fn write_counts(&self) {
        self.0.measures.write().await;
    }

    /// Everything about one workspace, open or not.
    ///
    /// # Errors
    /// When the caller may not read, or there is no such workspace.
    pub async fn get(&self, caller: &Caller, which: &WorkspaceReference) -> Result<WorkspaceDetails> {
        caller.require(Permission::ProjectRead)?;
        let row = self.row(caller, which).await?;
        if row.state != WorkspaceState::Open {
            return self.details(row).await;
        }
        // Looking is not using: whoever watches workspaces does not keep them from being closed.
        let entered = Entered {
            tree: self.attach(&row).await?,
            row,
        };
        let (workspaces, place) = (self.clone(), entered.clone());
        let (status, disk) = self
            .0
            .turnstile
            .pass(move |cancel| {
                let options = StatusOptions {
                    limit: MAX_PATHS,
                    ..StatusOptions::default()
                };
                let status = workspaces.repository_of(&place)?.status(&options, cancel)?;
                let key = place.row.repo.to_string();
                let disk = workspaces.0.trees.disk_use(&key, &place.row.name)?;
                Ok((status, disk))
            })
            .await?;
        let mut row = entered.row;
        row.disk_bytes = Some(disk);
        let noted = self.0.store.workspaces().set_disk(row.id, disk).await;
        noted.map_err(|error| from_store("noting the size of the workspace", error))?;
        Ok(WorkspaceDetails {
            status: Some(status),
            ..self.details(row).await?
        })
    }

    pub(super) async fn details(&self, row: Workspace) -> Result<WorkspaceDetails> {
        let repo = self.repo_of(&row).await?;
        let row = Workspace {
            target: row.target.or(repo.default_branch),
            ..row
        };
        let is_open = row.state == WorkspaceState::Open;
        let path = is_open.then(|| self.0.trees.view_path(&row.repo.to_string(), &row.name));
        Ok(WorkspaceDetails {
            repo: repo.name,
            path,
            in_use: is_open && row.lease_until > self.0.clock.now(),
            status: None,
            row,
        })
    }
}
