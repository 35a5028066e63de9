//! `workspace_close`: the tree goes, the branch and unsaved work stay.

use agentyard_model::{Permission, Toolset, WorkspaceId};
use agentyard_services::{CloseRequest, Closed, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sync::named;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceClose;

/// Close a workspace. Its branch stays; unsaved work is kept under a ref and can be had again after workspace_open.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceCloseInput {
    /// Its id, or `repository/branch`.
    workspace: Option<String>,
    /// In its place: repository,
    repo: Option<String>,
    /// and branch.
    branch: Option<String>,
    /// Even while somebody else works in it, or when its tree is broken.
    #[serde(default)]
    confirm: bool,
}

/// A workspace that was closed.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClosedView {
    workspace: WorkspaceId,
    branch: String,
    /// Where its unsaved work is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

impl Output for ClosedView {}

impl Operation for WorkspaceClose {
    const NAME: &'static str = "workspace_close";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::delete("/v1/workspaces/{workspace}");
    const ALSO: &'static [Route] = &[Route::delete("/v1/repos/{repo}/branches/{branch}")];
    type Input = WorkspaceCloseInput;
    type Output = ClosedView;

    async fn call(context: Context<'_>, input: WorkspaceCloseInput) -> Result<ClosedView> {
        let request = CloseRequest {
            workspace: named(input.workspace, input.repo, input.branch)?,
            confirm: input.confirm,
        };
        let closed = context
            .services
            .workspaces
            .close(context.caller, request, context.progress)
            .await?;
        Ok(closed.into())
    }
}

impl From<Closed> for ClosedView {
    fn from(closed: Closed) -> Self {
        Self {
            workspace: closed.workspace.id,
            branch: closed.workspace.branch,
            kept: closed.kept,
        }
    }
}
