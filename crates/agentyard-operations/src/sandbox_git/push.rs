//! `sandbox_push`: one's own work, committed and on the remote.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Result, SandboxPush as Request, SandboxPushed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxPush;

/// Commit what changed in a sandbox, rebase on what is new, and push the agent's branch; tried again when the remote
/// moves. On a conflict nothing is pushed, and the files are named.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxPushInput {
    /// Its id.
    sandbox: SandboxId,
    /// Of the commit; without one only commits that are there are pushed.
    message: Option<String>,
    /// Files to commit; default: all that changed.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    files: Vec<String>,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct PushedView {
    branch: String,
    /// `pushed` or `conflicts`.
    result: &'static str,
    /// The commit that is on the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Something was committed.
    committed: bool,
    attempts: u32,
    /// Files in conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    conflicts: Vec<String>,
}

impl Output for PushedView {
    fn item_count(&self) -> usize {
        self.conflicts.len()
    }

    fn keep(&mut self, count: usize) {
        self.conflicts.truncate(count);
    }
}

impl Operation for SandboxPush {
    const NAME: &'static str = "sandbox_push";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/git/push");
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("sandbox_id", "sandbox"), ("commit_message", "message")];
    type Input = SandboxPushInput;
    type Output = PushedView;

    async fn call(context: Context<'_>, input: SandboxPushInput) -> Result<PushedView> {
        let request = Request {
            message: input.message,
            files: input.files,
        };
        let git = &context.services.sandbox_git;
        let pushed = git.push(context.caller, input.sandbox, request).await?;
        Ok(pushed.into())
    }
}

impl From<SandboxPushed> for PushedView {
    fn from(pushed: SandboxPushed) -> Self {
        Self {
            branch: pushed.branch,
            result: if pushed.commit.is_some() {
                "pushed"
            } else {
                "conflicts"
            },
            commit: pushed.commit,
            committed: pushed.has_committed,
            attempts: pushed.attempts,
            conflicts: pushed.conflicts,
        }
    }
}
