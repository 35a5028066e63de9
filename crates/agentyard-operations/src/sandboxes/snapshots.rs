//! `sandbox_snapshots`: what snapshots there are.

use agentyard_model::{Cursor, Page, PageRequest, Permission, SandboxId, Snapshot, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::SnapshotView;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxSnapshots;

/// List the snapshots of your tenant, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxSnapshotsInput {
    /// Only those of this sandbox.
    sandbox: Option<SandboxId>,
    /// Only that of this name.
    name: Option<String>,
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of snapshots.
#[derive(Serialize, JsonSchema)]
pub(super) struct SnapshotPageView {
    snapshots: Vec<SnapshotView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for SnapshotPageView {
    const LEVELS: &'static [LevelledField] = &[("snapshots.owner", Level::Full)];

    fn item_count(&self) -> usize {
        self.snapshots.len()
    }

    fn keep(&mut self, count: usize) {
        self.snapshots.truncate(count);
        self.next_cursor = self.snapshots.last().map(|last| {
            let at = last.created_at.as_microseconds();
            Cursor::at(format_args!("{at}/{}", last.id))
        });
        self.truncated = true;
    }
}

impl Operation for SandboxSnapshots {
    const NAME: &'static str = "sandbox_snapshots";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandbox-snapshots");
    type Input = SandboxSnapshotsInput;
    type Output = SnapshotPageView;

    async fn call(context: Context<'_>, input: SandboxSnapshotsInput) -> Result<SnapshotPageView> {
        let page = PageRequest::new(input.limit, input.cursor);
        let sandboxes = &context.services.sandboxes;
        let found = sandboxes
            .snapshots(context.caller, input.sandbox, input.name.as_deref(), &page)
            .await?;
        Ok(found.into())
    }
}

impl From<Page<Snapshot>> for SnapshotPageView {
    fn from(page: Page<Snapshot>) -> Self {
        let page = page.map(SnapshotView::from);
        Self {
            snapshots: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}
