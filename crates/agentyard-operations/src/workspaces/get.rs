//! `workspace_get`: everything about one workspace.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Result, Status, WorkspaceDetails, WorkspaceReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{self, WorkspaceView};
use crate::level::LevelledField;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceGet;

/// Tell all about a workspace: its directory, lease, disk use, and how far its tree differs from its commit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceGetInput {
    /// Its id, or `repository/branch`.
    workspace: String,
}

/// A workspace, and the state of its tree.
#[derive(Serialize, JsonSchema)]
pub(super) struct WorkspaceStateView {
    #[serde(flatten)]
    workspace: WorkspaceView,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<TreeView>,
}

/// How a tree differs from its commit, in numbers; git_status names the files.
#[derive(Serialize, JsonSchema)]
struct TreeView {
    clean: bool,
    /// Files staged.
    #[serde(skip_serializing_if = "is_zero")]
    staged: usize,
    /// Files changed and not staged.
    #[serde(skip_serializing_if = "is_zero")]
    unstaged: usize,
    #[serde(skip_serializing_if = "is_zero")]
    untracked: usize,
    #[serde(skip_serializing_if = "is_zero")]
    conflicted: usize,
    /// Commits that its upstream has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<usize>,
    /// Commits of its upstream that it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<usize>,
}

impl Output for WorkspaceStateView {
    const LEVELS: &'static [LevelledField] = view::LEVELS;
}

impl Operation for WorkspaceGet {
    const NAME: &'static str = "workspace_get";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/workspaces/{workspace}");
    type Input = WorkspaceGetInput;
    type Output = WorkspaceStateView;

    async fn call(context: Context<'_>, input: WorkspaceGetInput) -> Result<WorkspaceStateView> {
        let which = WorkspaceReference::parse(&input.workspace)?;
        let details = context.services.workspaces.get(context.caller, &which).await?;
        Ok(details.into())
    }
}

impl From<WorkspaceDetails> for WorkspaceStateView {
    fn from(mut details: WorkspaceDetails) -> Self {
        let tree = details.status.take().map(TreeView::from);
        Self {
            workspace: details.into(),
            tree,
        }
    }
}

impl From<Status> for TreeView {
    fn from(status: Status) -> Self {
        let (ahead, behind) = match status.upstream.as_ref().and_then(|upstream| upstream.distance) {
            Some(distance) => (Some(distance.ahead), Some(distance.behind)),
            None => (None, None),
        };
        let staged = &status.staged;
        let unstaged = &status.unstaged;
        Self {
            clean: status.is_clean(),
            staged: staged.added.len()
                + staged.modified.len()
                + staged.deleted.len()
                + staged.renamed.len()
                + staged.copied.len()
                + staged.type_changed.len(),
            unstaged: unstaged.modified.len()
                + unstaged.deleted.len()
                + unstaged.added.len()
                + unstaged.type_changed.len(),
            untracked: status.untracked.len(),
            conflicted: status.conflicted.len(),
            ahead,
            behind,
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
