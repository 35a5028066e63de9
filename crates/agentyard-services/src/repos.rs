//! Registered repositories: where they come from, and the mirrors on which their workspaces stand.
//!
//! This file says which repository is meant; each file below holds what is done with one.

mod adding;
mod branches;
mod configured;
mod listing;
mod mirrors;
mod naming;
mod removing;

use std::sync::Arc;
use std::time::Duration;

use agentyard_git::{Git, RemoteUrl, Roots, Trees};
use agentyard_model::{Caller, NewRepo, Repo, RepoId, RepoName, Timestamp, Workspace, WorkspaceId};
use agentyard_store::{Added, Store};

use crate::audit::AuditLog;
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::failures::from_git;
use crate::turns::{Turns, Turnstile};

pub use adding::RepoRequest;
pub use branches::{RepoBranch, RepoBranches, RepoBranchesRequest};
pub use configured::ConfiguredRepo;
pub use mirrors::RepoFetched;

/// How many mirrors are made or fetched into at the same time.
const CONNECTIONS: usize = 16;

/// How many mirrors are read at the same time.
const READERS: usize = 8;

/// Registered repositories. Clones share them.
#[derive(Clone)]
pub struct Repos(Arc<Inner>);

struct Inner {
    store: Store,
    git: Arc<Git>,
    trees: Arc<Trees>,
    roots: Roots,
    configured: Vec<ConfiguredRepo>,
    audit: AuditLog,
    turns: Turns,
    connections: Turnstile,
    readers: Turnstile,
}

/// What registered repositories need.
pub(crate) struct RepoPorts {
    pub(crate) store: Store,
    pub(crate) git: Arc<Git>,
    pub(crate) trees: Arc<Trees>,
    pub(crate) audit: AuditLog,
    /// The directories of the local tenant, in which it may register what is there.
    pub(crate) roots: Roots,
    pub(crate) configured: Vec<ConfiguredRepo>,
    pub(crate) timeout: Duration,
    pub(crate) network_timeout: Duration,
}

/// What is known of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoSummary {
    /// Its id; none while it is only named in the configuration and nobody has used it.
    pub id: Option<RepoId>,
    /// What it is called.
    pub name: RepoName,
    /// Where it comes from.
    pub url: String,
    /// Its default branch, once that is known.
    pub default_branch: Option<String>,
    /// Who registered it.
    pub created_by: Option<String>,
    /// When.
    pub created_at: Option<Timestamp>,
    /// When its mirror last heard from the remote.
    pub fetched_at: Option<Timestamp>,
}

/// A repository and the workspaces that are there of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoDetails {
    /// The repository.
    pub repo: RepoSummary,
    /// Its workspaces that are not closed.
    pub workspaces: Vec<RepoWorkspace>,
}

/// A workspace of a repository, as far as one needs it to go there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoWorkspace {
    /// Which one.
    pub id: WorkspaceId,
    /// On which branch.
    pub branch: String,
    /// Where its working tree is.
    pub path: String,
}

/// What a caller's name for a repository leads to.
enum Found<'a> {
    Registered(Repo),
    Configured(&'a ConfiguredRepo),
}

impl Repos {
    pub(crate) fn new(ports: RepoPorts) -> Self {
        Self(Arc::new(Inner {
            store: ports.store,
            git: ports.git,
            trees: ports.trees,
            roots: ports.roots,
            configured: ports.configured,
            audit: ports.audit,
            turns: Turns::default(),
            connections: Turnstile::new(CONNECTIONS, ports.network_timeout, "git.network_timeout_ms"),
            readers: Turnstile::new(READERS, ports.timeout, "git.timeout_ms"),
        }))
    }

    /// The repository that a caller calls by its name or id. One of the configuration is registered by this.
    ///
    /// # Errors
    /// When the caller's tenant has none such, or it cannot be looked up.
    pub(crate) async fn find(&self, caller: &Caller, repo: &str) -> Result<Repo> {
        match self.look_up(caller, repo).await? {
            Found::Registered(repo) => Ok(repo),
            Found::Configured(configured) => self.register_configured(caller, configured).await,
        }
    }

    /// The key under which the trees of a repository are kept.
    pub(crate) fn key(repo: &Repo) -> String {
        repo.id.to_string()
    }

    async fn look_up(&self, caller: &Caller, repo: &str) -> Result<Found<'_>> {
        let repos = self.0.store.repos();
        let (registered, configured) = match repo.parse::<RepoId>() {
            Ok(id) => (repos.by_id(caller.tenant, id).await, None),
            Err(_) => {
                let name: RepoName = repo
                    .parse()
                    .map_err(|error| Error::invalid(format!("`repo`: {error}")))?;
                let configured = self.configured(caller, &name);
                (repos.get(caller.tenant, &name).await, configured)
            }
        };
        match registered.map_err(|error| from_store("looking up a repository", error))? {
            Some(registered) => Ok(Found::Registered(registered)),
            None => configured.map(Found::Configured).ok_or_else(|| {
                let shown: String = repo.escape_debug().take(80).collect();
                Error::not_found(format!("there is no repository `{shown}`"))
                    .hint("repo_list names those there are; repo_add registers one")
            }),
        }
    }

    async fn register_configured(&self, caller: &Caller, configured: &ConfiguredRepo) -> Result<Repo> {
        let new = NewRepo {
            tenant: caller.tenant,
            name: configured.name.clone(),
            url: configured.url.to_string(),
            default_branch: configured.default_branch.as_ref().map(ToString::to_string),
            created_by: "configuration".to_owned(),
        };
        match self.register(caller, &new).await? {
            // Somebody else was first, or calls the same address by another name.
            Added::Added(repo) | Added::UrlTaken(repo) => Ok(repo),
            Added::NameTaken(repo) => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "the name `{}` was taken by {} at this moment",
                    repo.name, repo.url
                ),
            )
            .hint("call the repository in the configuration by another name")),
        }
    }

    async fn workspaces_of(&self, repo: &Repo) -> Result<Vec<RepoWorkspace>> {
        let filter = agentyard_model::WorkspaceFilter {
            repo: Some(repo.id),
            ..Default::default()
        };
        let page = agentyard_model::PageRequest::new(Some(agentyard_model::MAX_PAGE_SIZE), None);
        let found = self
            .0
            .store
            .workspaces()
            .list(repo.tenant, &filter, &page)
            .await
            .map_err(|error| from_store("looking up the workspaces of a repository", error))?;
        Ok(found
            .items
            .into_iter()
            .map(|workspace| self.located(repo, workspace))
            .collect())
    }

    fn located(&self, repo: &Repo, workspace: Workspace) -> RepoWorkspace {
        let path = self.0.trees.view_path(&Self::key(repo), &workspace.name);
        RepoWorkspace {
            id: workspace.id,
            branch: workspace.branch,
            path: path.display().to_string(),
        }
    }
}

/// The address of a registered repository.
fn address(repo: &Repo) -> Result<RemoteUrl> {
    RemoteUrl::parse(&repo.url).map_err(from_git)
}

impl From<Repo> for RepoSummary {
    fn from(repo: Repo) -> Self {
        Self {
            id: Some(repo.id),
            name: repo.name,
            url: repo.url,
            default_branch: repo.default_branch,
            created_by: Some(repo.created_by),
            created_at: Some(repo.created_at),
            fetched_at: repo.fetched_at,
        }
    }
}

impl From<&ConfiguredRepo> for RepoSummary {
    fn from(configured: &ConfiguredRepo) -> Self {
        Self {
            id: None,
            name: configured.name.clone(),
            url: configured.url.to_string(),
            default_branch: configured.default_branch.as_ref().map(ToString::to_string),
            created_by: None,
            created_at: None,
            fetched_at: None,
        }
    }
}
