//! What is shown of repositories.

use agentyard_model::{Cursor, Page, Repo, RepoId, RepoName, Timestamp, WorkspaceId};
use agentyard_services::{RepoDetails, RepoSummary, RepoWorkspace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::level::{Level, LevelledField};
use crate::output::Output;

/// A repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepoView {
    /// Its id; none while it is only named in the configuration and nobody has used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<RepoId>,
    /// What it is called.
    name: RepoName,
    /// Where it comes from.
    url: String,
    /// Its default branch, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_branch: Option<String>,
    /// Who registered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// When the remote was last asked; never, while there is no mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    fetched_at: Option<Timestamp>,
}

impl Output for RepoView {
    const LEVELS: &'static [LevelledField] = &[("created_by", Level::Full), ("created_at", Level::Full)];
}

impl From<RepoSummary> for RepoView {
    fn from(repo: RepoSummary) -> Self {
        Self {
            id: repo.id,
            name: repo.name,
            url: repo.url,
            default_branch: repo.default_branch,
            created_by: repo.created_by,
            created_at: repo.created_at,
            fetched_at: repo.fetched_at,
        }
    }
}

impl From<Repo> for RepoView {
    fn from(repo: Repo) -> Self {
        RepoSummary::from(repo).into()
    }
}

/// A page of repositories.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepoPageView {
    /// The repositories.
    repos: Vec<RepoView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for RepoPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("repos.created_by", Level::Full),
        ("repos.created_at", Level::Full),
        ("repos.fetched_at", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.repos.len()
    }

    fn keep(&mut self, count: usize) {
        self.repos.truncate(count);
        self.next_cursor = self.repos.last().map(|repo| Cursor::at(&repo.name));
        self.truncated = true;
    }
}

impl From<Page<RepoSummary>> for RepoPageView {
    fn from(page: Page<RepoSummary>) -> Self {
        let page = page.map(RepoView::from);
        Self {
            repos: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}

/// A repository and its workspaces.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepoDetailsView {
    #[serde(flatten)]
    repo: RepoView,
    /// Its workspaces that are not closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    workspaces: Vec<WorkspaceView>,
}

/// A workspace of it.
#[derive(Serialize, JsonSchema)]
struct WorkspaceView {
    /// Its id.
    id: WorkspaceId,
    /// The branch it is on.
    branch: String,
    /// Its working tree.
    path: String,
}

impl Output for RepoDetailsView {
    fn item_count(&self) -> usize {
        self.workspaces.len()
    }

    fn keep(&mut self, count: usize) {
        self.workspaces.truncate(count);
    }
}

impl From<RepoDetails> for RepoDetailsView {
    fn from(details: RepoDetails) -> Self {
        Self {
            repo: details.repo.into(),
            workspaces: details.workspaces.into_iter().map(WorkspaceView::from).collect(),
        }
    }
}

impl From<RepoWorkspace> for WorkspaceView {
    fn from(workspace: RepoWorkspace) -> Self {
        Self {
            id: workspace.id,
            branch: workspace.branch,
            path: workspace.path,
        }
    }
}
