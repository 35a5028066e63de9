//! `sandbox_snapshot`: keep the files of a sandbox as they are.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::SnapshotView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct SandboxSnapshot;

/// Keep the files of a sandbox as they are now; `sandbox_create` makes others of it. Processes are not kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxSnapshotInput {
    /// The sandbox.
    sandbox: SandboxId,
    /// What to call the snapshot.
    name: Option<String>,
}

impl Operation for SandboxSnapshot {
    const NAME: &'static str = "sandbox_snapshot";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/snapshots");
    type Input = SandboxSnapshotInput;
    type Output = SnapshotView;

    async fn call(context: Context<'_>, input: SandboxSnapshotInput) -> Result<SnapshotView> {
        let sandboxes = &context.services.sandboxes;
        let made = sandboxes
            .snapshot(context.caller, input.sandbox, input.name)
            .await?;
        Ok(made.into())
    }
}
