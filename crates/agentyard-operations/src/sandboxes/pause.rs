//! `sandbox_pause`: stop a sandbox for a while.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::SandboxView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxPause;

/// Stop a sandbox until `sandbox_connect`: its processes stand still, and are lost when the server restarts; its files stay.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxPauseInput {
    /// Its id.
    sandbox: SandboxId,
    /// End its processes and keep only its files.
    #[serde(default)]
    files_only: bool,
}

impl Operation for SandboxPause {
    const NAME: &'static str = "sandbox_pause";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/pause");
    type Input = SandboxPauseInput;
    type Output = SandboxView;

    async fn call(context: Context<'_>, input: SandboxPauseInput) -> Result<SandboxView> {
        let sandboxes = &context.services.sandboxes;
        let paused = sandboxes
            .pause(context.caller, input.sandbox, !input.files_only)
            .await?;
        Ok(paused.into())
    }
}
