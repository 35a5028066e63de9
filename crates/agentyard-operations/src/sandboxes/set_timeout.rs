//! `sandbox_set_timeout`: how long a sandbox stays.

use std::time::Duration;

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::SandboxView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxSetTimeout;

/// Let a sandbox stay for so long from now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxSetTimeoutInput {
    /// Its id.
    sandbox: SandboxId,
    /// From now; also less than before.
    timeout_seconds: u64,
}

impl Operation for SandboxSetTimeout {
    const NAME: &'static str = "sandbox_set_timeout";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/timeout");
    type Input = SandboxSetTimeoutInput;
    type Output = SandboxView;

    async fn call(context: Context<'_>, input: SandboxSetTimeoutInput) -> Result<SandboxView> {
        let timeout = Duration::from_secs(input.timeout_seconds);
        let sandboxes = &context.services.sandboxes;
        let set = sandboxes
            .set_timeout(context.caller, input.sandbox, timeout)
            .await?;
        Ok(set.into())
    }
}
