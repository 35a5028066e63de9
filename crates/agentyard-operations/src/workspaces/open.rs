//! `workspace_open`: a branch in its own tree.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{OpenRequest, Opened, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{self, WorkspaceView};
use crate::level::LevelledField;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceOpen;

/// Open a workspace: a branch of a repository in its own working tree, in milliseconds. The same branch gives the same
/// workspace. Pass its id as `workspace` to git and build tools. Without repository: that of the working directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceOpenInput {
    /// Registered repository.
    #[serde(alias = "project")]
    repo: Option<String>,
    /// Or its address.
    url: Option<String>,
    /// Or a repository on this machine.
    path: Option<PathBuf>,
    /// Branch; made when it does not exist.
    branch: Option<String>,
    /// Instead of `branch`: who works, giving `agent-{agent}-{task}`.
    agent: Option<String>,
    /// And on what.
    task: Option<String>,
    /// Where a new branch begins; default: the default branch.
    from: Option<String>,
}

/// An open workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct OpenedView {
    #[serde(flatten)]
    workspace: WorkspaceView,
    /// It was open before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reused: bool,
    /// The branch is new.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    new_branch: bool,
    /// Why what is known of the remote may be old.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
}

impl Output for OpenedView {
    const LEVELS: &'static [LevelledField] = view::LEVELS;
}

impl Operation for WorkspaceOpen {
    const NAME: &'static str = "workspace_open";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/workspaces");
    type Input = WorkspaceOpenInput;
    type Output = OpenedView;

    async fn call(context: Context<'_>, input: WorkspaceOpenInput) -> Result<OpenedView> {
        let request = OpenRequest {
            repo: input.repo,
            url: input.url,
            path: input.path,
            branch: input.branch,
            agent: input.agent,
            task: input.task,
            from: input.from,
        };
        let opened = context
            .services
            .workspaces
            .open(context.caller, request, context.progress)
            .await?;
        Ok(opened.into())
    }
}

impl From<Opened> for OpenedView {
    fn from(opened: Opened) -> Self {
        Self {
            workspace: opened.workspace.into(),
            reused: opened.reused,
            new_branch: opened.new_branch,
            stale: opened.stale,
        }
    }
}
