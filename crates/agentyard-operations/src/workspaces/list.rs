//! `workspace_list`: what is open, and what was counted.

use std::collections::BTreeMap;

use agentyard_model::{Cursor, PageRequest, Permission, RepoName, Toolset};
use agentyard_services::{Result, WorkspaceListing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::WorkspaceView;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceList;

/// List the workspaces of your tenant, newest first, with what was counted since the beginning.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceListInput {
    /// Only those of this repository.
    repo: Option<RepoName>,
    /// Also those that are closed.
    #[serde(default)]
    closed: bool,
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of workspaces.
#[derive(Serialize, JsonSchema)]
pub(super) struct WorkspacePageView {
    workspaces: Vec<WorkspaceView>,
    /// What was counted: opened, reused, evicted, conflicts, push retries, and how long things took.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    totals: BTreeMap<String, TotalView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// What was counted of one kind.
#[derive(Serialize, JsonSchema)]
struct TotalView {
    count: u64,
    /// Their sum, in the unit that the name ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

impl Output for WorkspacePageView {
    const LEVELS: &'static [LevelledField] = &[
        ("workspaces.path", Level::Full),
        ("workspaces.owner", Level::Standard),
        ("workspaces.way", Level::Full),
        ("workspaces.created_at", Level::Full),
        ("workspaces.used_at", Level::Standard),
        ("totals", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.workspaces.len()
    }

    fn keep(&mut self, count: usize) {
        self.workspaces.truncate(count);
        self.next_cursor = self.workspaces.last().map(|last| Cursor::at(last.workspace));
        self.truncated = true;
    }
}

impl Operation for WorkspaceList {
    const NAME: &'static str = "workspace_list";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/workspaces");
    type Input = WorkspaceListInput;
    type Output = WorkspacePageView;

    async fn call(context: Context<'_>, input: WorkspaceListInput) -> Result<WorkspacePageView> {
        let page = PageRequest::new(input.limit, input.cursor);
        let listing = context
            .services
            .workspaces
            .list(context.caller, input.repo.as_ref(), input.closed, &page)
            .await?;
        Ok(listing.into())
    }
}

impl From<WorkspaceListing> for WorkspacePageView {
    fn from(listing: WorkspaceListing) -> Self {
        let page = listing.workspaces.map(WorkspaceView::from);
        Self {
            workspaces: page.items,
            totals: listing
                .totals
                .into_iter()
                .map(|measure| {
                    let total = TotalView {
                        count: measure.count,
                        total: Some(measure.total).filter(|total| *total > 0),
                    };
                    (measure.name, total)
                })
                .collect(),
            next_cursor: page.next,
            truncated: false,
        }
    }
}
