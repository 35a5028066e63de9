//! `workspace_undo`: as it was before.

use agentyard_model::{Permission, Toolset, WorkspaceId};
use agentyard_services::{Result, Undone, WorkspaceReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceUndo;

/// Take a workspace back to before the last change, or to any checkpoint: files, index, branch, untracked files. The
/// state that is left is a checkpoint too, so undoing can be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceUndoInput {
    /// Its id, or `repository/branch`.
    workspace: String,
    /// Number of a checkpoint, or a ref under `refs/agentyard/`.
    to: Option<CheckpointWord>,
}

/// A number, or a text.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum CheckpointWord {
    Number(u64),
    Text(String),
}

/// A workspace that is as it was before.
#[derive(Serialize, JsonSchema)]
pub(super) struct UndoneView {
    workspace: WorkspaceId,
    /// The checkpoint that was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<u64>,
    /// What had been done before it was made.
    after: String,
    /// The checkpoint of the state that was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    files_written: usize,
    files_removed: usize,
    /// What no checkpoint holds, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    not_restored: Vec<String>,
}

/// More than anybody reads.
const NAMED: usize = 100;

impl Output for UndoneView {}

impl Operation for WorkspaceUndo {
    const NAME: &'static str = "workspace_undo";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/workspaces/{workspace}/undo");
    type Input = WorkspaceUndoInput;
    type Output = UndoneView;

    async fn call(context: Context<'_>, input: WorkspaceUndoInput) -> Result<UndoneView> {
        let which = WorkspaceReference::parse(&input.workspace)?;
        let to = input.to.map(|to| match to {
            CheckpointWord::Number(number) => number.to_string(),
            CheckpointWord::Text(text) => text,
        });
        let undone = context
            .services
            .workspaces
            .undo(context.caller, &which, to, context.progress)
            .await?;
        Ok(undone.into())
    }
}

impl From<Undone> for UndoneView {
    fn from(undone: Undone) -> Self {
        let mut not_restored = undone.not_restored;
        not_restored.truncate(NAMED);
        Self {
            workspace: undone.workspace.id,
            restored: undone.to.number,
            after: undone.to.operation,
            left: undone.from.number,
            files_written: undone.files_written,
            files_removed: undone.files_removed,
            not_restored,
        }
    }
}
