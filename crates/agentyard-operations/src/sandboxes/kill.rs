//! `sandbox_kill`: the end of a sandbox.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxKill;

/// End a sandbox, and remove its files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxKillInput {
    /// Its id.
    sandbox: SandboxId,
}

/// A sandbox that is gone.
#[derive(Serialize, JsonSchema)]
pub(super) struct KilledView {
    /// Which one it was.
    killed: SandboxId,
}

impl Output for KilledView {}

impl Operation for SandboxKill {
    const NAME: &'static str = "sandbox_kill";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::delete("/v1/sandboxes/{sandbox}");
    type Input = SandboxKillInput;
    type Output = KilledView;

    async fn call(context: Context<'_>, input: SandboxKillInput) -> Result<KilledView> {
        context
            .services
            .sandboxes
            .kill(context.caller, input.sandbox)
            .await?;
        Ok(KilledView {
            killed: input.sandbox,
        })
    }
}
