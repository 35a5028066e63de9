//! `sandbox_list`: what sandboxes there are.

use agentyard_model::{
    Cursor, Page, PageRequest, Permission, SandboxFilter, SandboxState, Timestamp, Toolset,
};
use agentyard_services::{Result, SandboxDetails};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::SandboxView;
use crate::build::Assignments;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxList;

/// List the sandboxes of your tenant, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxListInput {
    /// `NAME=value` each: only those with all of this noted on them.
    #[serde(default)]
    metadata: Assignments,
    /// Only those in one of these states.
    #[serde(default)]
    #[schemars(length(max = 2))]
    state: Vec<ListedState>,
    /// Only those made from this.
    template: Option<String>,
    /// Only those that began to run at this time or later.
    since: Option<Timestamp>,
    /// The oldest first.
    #[serde(default)]
    oldest_first: bool,
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A state that callers can find a sandbox in.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ListedState {
    /// It answers.
    Running,
    /// It does not.
    Paused,
}

/// A page of sandboxes.
#[derive(Serialize, JsonSchema)]
pub(super) struct SandboxPageView {
    sandboxes: Vec<SandboxView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for SandboxPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("sandboxes.owner", Level::Standard),
        ("sandboxes.created_at", Level::Full),
        ("sandboxes.started_at", Level::Standard),
        ("sandboxes.cpu_count", Level::Full),
        ("sandboxes.memory_bytes", Level::Full),
        ("sandboxes.disk_bytes", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.sandboxes.len()
    }

    fn keep(&mut self, count: usize) {
        self.sandboxes.truncate(count);
        self.next_cursor = self.sandboxes.last().map(|last| {
            let at = last.created_at.as_microseconds();
            Cursor::at(format_args!("{at}-{}", last.id))
        });
        self.truncated = true;
    }
}

impl Operation for SandboxList {
    const NAME: &'static str = "sandbox_list";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandboxes");
    type Input = SandboxListInput;
    type Output = SandboxPageView;

    async fn call(context: Context<'_>, input: SandboxListInput) -> Result<SandboxPageView> {
        let states = input.state.iter().map(|state| match state {
            ListedState::Running => SandboxState::Running,
            ListedState::Paused => SandboxState::Paused,
        });
        let filter = SandboxFilter {
            states: states.collect(),
            metadata: input.metadata.0.into_iter().collect(),
            owner: None,
            template: input.template,
            since: input.since,
            oldest_first: input.oldest_first,
        };
        let page = PageRequest::new(input.limit, input.cursor);
        let sandboxes = &context.services.sandboxes;
        let found = sandboxes.list(context.caller, &filter, &page).await?;
        Ok(found.into())
    }
}

impl From<Page<SandboxDetails>> for SandboxPageView {
    fn from(page: Page<SandboxDetails>) -> Self {
        let page = page.map(SandboxView::from);
        Self {
            sandboxes: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}
