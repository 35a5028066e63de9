//! `sandbox_connect`: wake a sandbox, or let it stay longer.

use std::time::Duration;

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::AccessView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxConnect;

/// Wake a paused sandbox. One that runs stays for `timeout_seconds` from now at least.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxConnectInput {
    /// Its id.
    sandbox: SandboxId,
    /// Default 300.
    timeout_seconds: Option<u64>,
    /// Start from its files, without the processes that were paused.
    #[serde(default)]
    cold: bool,
}

impl Operation for SandboxConnect {
    const NAME: &'static str = "sandbox_connect";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/connect");
    type Input = SandboxConnectInput;
    type Output = AccessView;

    async fn call(context: Context<'_>, input: SandboxConnectInput) -> Result<AccessView> {
        let timeout = input.timeout_seconds.map(Duration::from_secs);
        let sandboxes = &context.services.sandboxes;
        let access = sandboxes
            .connect(context.caller, input.sandbox, timeout, input.cold)
            .await?;
        Ok(access.into())
    }
}
