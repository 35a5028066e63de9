//! Repositories of which workspaces are made.

use crate::{RepoId, RepoName, TenantId, Timestamp};

/// A registered repository: where it comes from, and what it is called here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// Which one.
    pub id: RepoId,
    /// Whose.
    pub tenant: TenantId,
    /// What callers call it.
    pub name: RepoName,
    /// Its address without a user or password, or the absolute path of a repository on this machine.
    pub url: String,
    /// The branch that its remote calls its own, once that is known or when somebody has said it.
    pub default_branch: Option<String>,
    /// Who registered it, as [`crate::Subject`] displays itself.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When its mirror last heard from the remote; never, while there is no mirror.
    pub fetched_at: Option<Timestamp>,
}

/// A repository to be registered.
#[derive(Debug, Clone)]
pub struct NewRepo {
    /// Whose.
    pub tenant: TenantId,
    /// What callers will call it.
    pub name: RepoName,
    /// Its address without a user or password, or an absolute path.
    pub url: String,
    /// Its default branch, when somebody has said it.
    pub default_branch: Option<String>,
    /// Who registers it.
    pub created_by: String,
}
