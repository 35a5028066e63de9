//! `sandbox_get`: one sandbox.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::SandboxView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxGet;

/// Show a sandbox: its state, and when its time is up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxGetInput {
    /// Its id.
    sandbox: SandboxId,
}

impl Operation for SandboxGet {
    const NAME: &'static str = "sandbox_get";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandboxes/{sandbox}");
    type Input = SandboxGetInput;
    type Output = SandboxView;

    async fn call(context: Context<'_>, input: SandboxGetInput) -> Result<SandboxView> {
        let sandboxes = &context.services.sandboxes;
        Ok(sandboxes.get(context.caller, input.sandbox).await?.into())
    }
}
