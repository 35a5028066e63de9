//! `repo_branches`: the branches of a repository, and which of them have a workspace.

use agentyard_model::{Cursor, Permission, RepoName, Toolset, WorkspaceId};
use agentyard_services::{RepoBranch, RepoBranches as Branches, RepoBranchesRequest, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

/// How many branches a page has when nobody says.
const DEFAULT_LIMIT: u32 = 200;

/// The most branches in a page.
const MAX_LIMIT: u32 = 1000;

pub(super) struct RepoBranches;

/// List the branches of a repository: its workspaces' own, and its remote's as of the
/// last fetch (`origin/…`), with the workspace that is open on each.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepoBranchesInput {
    /// Repository: name or id.
    repo: String,
    /// Text in the name.
    pattern: Option<String>,
    /// How many at most; 200 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for RepoBranches {
    const NAME: &'static str = "repo_branches";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::get("/v1/repos/{repo}/branches");
    type Input = RepoBranchesInput;
    type Output = RepoBranchesView;

    async fn call(context: Context<'_>, input: RepoBranchesInput) -> Result<RepoBranchesView> {
        let request = RepoBranchesRequest {
            pattern: input.pattern,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize,
            cursor: input.cursor,
        };
        let repos = &context.services.repos;
        let branches = repos
            .branches(context.caller, &input.repo, request, context.progress)
            .await?;
        Ok(branches.into())
    }
}

/// Branches of a repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepoBranchesView {
    /// The repository.
    repo: RepoName,
    /// The branches.
    branches: Vec<BranchRow>,
    /// How many there are on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
}

/// A branch.
#[derive(Serialize, JsonSchema)]
struct BranchRow {
    /// Its name; `origin/…` is the remote's.
    name: String,
    /// Its last commit.
    commit: String,
    /// It is the default branch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    default: bool,
    /// The workspace on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<WorkspaceId>,
    /// That workspace's working tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The first line of its last commit's message.
    subject: String,
    /// When that was committed.
    committed_at: String,
    #[serde(skip)]
    position: usize,
}

impl Output for RepoBranchesView {
    const LEVELS: &'static [LevelledField] = &[
        ("branches.subject", Level::Full),
        ("branches.committed_at", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.branches.len()
    }

    fn keep(&mut self, count: usize) {
        self.branches.truncate(count);
        self.truncated = true;
        self.next_cursor = self.branches.last().map(|branch| Cursor::at(branch.position + 1));
    }
}

impl From<Branches> for RepoBranchesView {
    fn from(found: Branches) -> Self {
        Self {
            repo: found.repo.name,
            total: found.next.map(|_| found.total),
            next_cursor: found.next.map(Cursor::at),
            branches: found.branches.into_iter().map(BranchRow::from).collect(),
            truncated: false,
        }
    }
}

impl From<RepoBranch> for BranchRow {
    fn from(found: RepoBranch) -> Self {
        let (workspace, path) = found.workspace.map(|it| (it.id, it.path)).unzip();
        Self {
            name: found.branch.name,
            commit: found.branch.commit.to_string(),
            default: found.is_default,
            workspace,
            path,
            subject: found.branch.subject,
            committed_at: found.branch.committed_at.to_string(),
            position: found.position,
        }
    }
}
