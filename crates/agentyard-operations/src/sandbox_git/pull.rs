//! `sandbox_pull`: what is new on the remote, under one's own work.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Result, SandboxPulled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxPull;

/// Fetch the base branch in a sandbox and rebase the agent's branch on it. On a conflict nothing changes, and the files
/// are named.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxPullInput {
    /// Its id.
    sandbox: SandboxId,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct PulledView {
    branch: String,
    base: String,
    /// `up_to_date`, `rebased` or `conflicts`.
    result: &'static str,
    /// Commit.
    head: String,
    /// What was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// Files in conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    conflicts: Vec<String>,
}

impl Output for PulledView {
    fn item_count(&self) -> usize {
        self.conflicts.len()
    }

    fn keep(&mut self, count: usize) {
        self.conflicts.truncate(count);
    }
}

impl Operation for SandboxPull {
    const NAME: &'static str = "sandbox_pull";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/git/pull");
    const ALIASES: &'static [(&'static str, &'static str)] = &[("sandbox_id", "sandbox")];
    type Input = SandboxPullInput;
    type Output = PulledView;

    async fn call(context: Context<'_>, input: SandboxPullInput) -> Result<PulledView> {
        let git = &context.services.sandbox_git;
        Ok(git.pull(context.caller, input.sandbox).await?.into())
    }
}

impl From<SandboxPulled> for PulledView {
    fn from(pulled: SandboxPulled) -> Self {
        let has_moved = pulled.previous != pulled.head;
        Self {
            branch: pulled.branch,
            base: pulled.base,
            result: match (pulled.conflicts.is_empty(), has_moved) {
                (false, _) => "conflicts",
                (true, true) => "rebased",
                (true, false) => "up_to_date",
            },
            previous: has_moved.then_some(pulled.previous),
            head: pulled.head,
            conflicts: pulled.conflicts,
        }
    }
}
