//! `sandbox_snapshot_remove`: the end of a snapshot.

use agentyard_model::{Permission, SnapshotId, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxSnapshotRemove;

/// Remove a snapshot. Sandboxes that were made of it stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxSnapshotRemoveInput {
    /// Its id or name.
    snapshot: String,
}

/// A snapshot that is gone.
#[derive(Serialize, JsonSchema)]
pub(super) struct RemovedSnapshotView {
    /// Which one it was.
    removed: SnapshotId,
}

impl Output for RemovedSnapshotView {}

impl Operation for SandboxSnapshotRemove {
    const NAME: &'static str = "sandbox_snapshot_remove";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::delete("/v1/sandbox-snapshots/{snapshot}");
    type Input = SandboxSnapshotRemoveInput;
    type Output = RemovedSnapshotView;

    async fn call(context: Context<'_>, input: SandboxSnapshotRemoveInput) -> Result<RemovedSnapshotView> {
        let sandboxes = &context.services.sandboxes;
        let removed = sandboxes.remove_snapshot(context.caller, &input.snapshot).await?;
        Ok(RemovedSnapshotView { removed: removed.id })
    }
}
