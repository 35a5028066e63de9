//! `sandbox_create`: a small machine for a while.

use std::time::Duration;

use agentyard_model::{Lifecycle, Permission, SandboxNetwork, Toolset};
use agentyard_services::{CreateSandbox, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::AccessView;
use crate::build::Assignments;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxCreate;

/// Make a sandbox that stays: a small machine with files and processes of its own. End it with `sandbox_kill`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxCreateInput {
    /// `base`, a configured template, or a snapshot's id or name.
    template: Option<String>,
    /// How long it stays. Default 300.
    timeout_seconds: Option<u64>,
    /// `NAME=value` each: what you note on it.
    #[serde(default)]
    metadata: Assignments,
    /// `NAME=value` each: the environment of its programs.
    #[serde(default)]
    envs: Assignments,
    /// When its time is up, pause it and do not remove it.
    #[serde(default)]
    auto_pause: bool,
    /// With `auto_pause`: keep only its files.
    #[serde(default)]
    files_only: bool,
    /// When it is paused, wake it by talking to it.
    #[serde(default)]
    auto_resume: bool,
    /// False for no network at all.
    internet: Option<bool>,
    /// Hosts or address blocks: nobody but these.
    #[serde(default)]
    #[schemars(length(max = 64))]
    allow_out: Vec<String>,
    /// Not these.
    #[serde(default)]
    #[schemars(length(max = 64))]
    deny_out: Vec<String>,
    /// Whether its ports answer without a token.
    public_traffic: Option<bool>,
    /// The same request and key within an hour give the same sandbox.
    idempotency_key: Option<String>,
}

impl Operation for SandboxCreate {
    const NAME: &'static str = "sandbox_create";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes");
    type Input = SandboxCreateInput;
    type Output = AccessView;

    async fn call(context: Context<'_>, input: SandboxCreateInput) -> Result<AccessView> {
        let request = CreateSandbox {
            template: input.template,
            timeout: input.timeout_seconds.map(Duration::from_secs),
            lifecycle: Lifecycle {
                auto_pause: input.auto_pause,
                auto_resume: input.auto_resume,
                files_only: input.files_only,
            },
            metadata: input.metadata.0.into_iter().collect(),
            environment: input.envs.0.into_iter().collect(),
            network: SandboxNetwork {
                internet: input.internet,
                allow_out: input.allow_out,
                deny_out: input.deny_out,
                public_traffic: input.public_traffic,
            },
            idempotency_key: input.idempotency_key,
        };
        let sandboxes = &context.services.sandboxes;
        Ok(sandboxes.create(context.caller, request).await?.into())
    }
}
