//! The branches of a repository, and which of them have a workspace.

use std::collections::HashMap;

use agentyard_git::{Branch, BranchQuery};
use agentyard_model::{Caller, Cursor, Permission, Repo};

use super::{RepoWorkspace, Repos};
use crate::error::Result;
use crate::progress::Progress;

/// Which branches are wanted.
#[derive(Debug, Clone, Default)]
pub struct RepoBranchesRequest {
    /// Only those whose name contains this.
    pub pattern: Option<String>,
    /// How many at most.
    pub limit: usize,
    /// Where an earlier page ended.
    pub cursor: Option<Cursor>,
}

/// Some branches of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoBranches {
    /// The repository.
    pub repo: Repo,
    /// The branches, those of workspaces first, each kind by name.
    pub branches: Vec<RepoBranch>,
    /// How many there are on all pages.
    pub total: usize,
    /// How many came before the next page, when there is one.
    pub next: Option<usize>,
}

/// A branch of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoBranch {
    /// As git tells it: `main`, or `origin/main` for the remote's.
    pub branch: Branch,
    /// How many branches come before it on all pages.
    pub position: usize,
    /// It is the repository's default branch.
    pub is_default: bool,
    /// The workspace on it, when there is one.
    pub workspace: Option<RepoWorkspace>,
}

/// How the names of the remote's branches begin.
const OF_REMOTE: &str = "origin/";

impl Repos {
    /// The branches of a repository: those of its workspaces, and those that its remote had when it was last fetched.
    ///
    /// # Errors
    /// When the caller may not see them, its tenant has no such repository, or it has no mirror yet and the remote
    /// cannot be reached.
    pub async fn branches(
        &self,
        caller: &Caller,
        repo: &str,
        request: RepoBranchesRequest,
        progress: &Progress,
    ) -> Result<RepoBranches> {
        caller.require(Permission::ProjectRead)?;
        let offset = match &request.cursor {
            Some(cursor) => cursor.place()?,
            None => 0,
        };
        let repo = self.find(caller, repo).await?;
        let repo = self.prepare(repo, progress).await?;
        let workspaces = self.workspaces_of(&repo).await?;
        let (trees, key) = (self.0.trees.clone(), Self::key(&repo));
        let query = BranchQuery {
            local: true,
            remote: true,
            pattern: request.pattern,
            skip: offset,
            limit: request.limit,
            ..BranchQuery::default()
        };
        let page = self
            .0
            .readers
            .pass(move |cancel| trees.open_mirror(&key)?.branches(&query, cancel))
            .await?;
        let mut workspaces: HashMap<String, RepoWorkspace> = workspaces
            .into_iter()
            .map(|workspace| (workspace.branch.clone(), workspace))
            .collect();
        let listed = page.branches.into_iter().zip(offset..);
        let branches = listed
            // `origin/HEAD` is how the default branch is told, not another one.
            .filter(|(branch, _)| branch.alias_of.is_none())
            .map(|(branch, position)| RepoBranch {
                position,
                is_default: is_default(&repo, &branch),
                workspace: (!branch.remote)
                    .then(|| workspaces.remove(&branch.name))
                    .flatten(),
                branch,
            })
            .collect();
        Ok(RepoBranches {
            repo,
            branches,
            total: page.total,
            next: page.more.then(|| offset + request.limit),
        })
    }
}

fn is_default(repo: &Repo, branch: &Branch) -> bool {
    let name = if branch.remote {
        branch.name.strip_prefix(OF_REMOTE)
    } else {
        Some(branch.name.as_str())
    };
    name.is_some() && name == repo.default_branch.as_deref()
}
