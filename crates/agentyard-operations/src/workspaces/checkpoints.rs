//! `workspace_checkpoints`: the states that one can go back to.

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{CheckpointPage, CheckpointQuery, ListedCheckpoint, Result, WorkspaceReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceCheckpoints;

/// List the states of a workspace that workspace_undo can go back to, newest first, with what changed in each.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceCheckpointsInput {
    /// Its id, or `repository/branch`.
    workspace: String,
    /// How many at most; 20 by default.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of checkpoints.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckpointPageView {
    checkpoints: Vec<CheckpointView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A state.
#[derive(Serialize, JsonSchema)]
struct CheckpointView {
    /// Its number, as workspace_undo takes it.
    number: u64,
    /// What was done; `before`: what was found when something was about to be done.
    after: String,
    /// For whom.
    by: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// How many files differ from the one before.
    changed: usize,
    /// The first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    files: Vec<String>,
}

impl Output for CheckpointPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("checkpoints.by", Level::Full),
        ("checkpoints.files", Level::Standard),
        ("checkpoints.head", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.checkpoints.len()
    }

    fn keep(&mut self, count: usize) {
        self.checkpoints.truncate(count);
        self.next_cursor = self.checkpoints.last().map(|last| Cursor::at(last.number));
        self.truncated = true;
    }
}

/// How many there are in an answer, when nobody says.
const USUAL: usize = 20;

impl Operation for WorkspaceCheckpoints {
    const NAME: &'static str = "workspace_checkpoints";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/workspaces/{workspace}/checkpoints");
    type Input = WorkspaceCheckpointsInput;
    type Output = CheckpointPageView;

    async fn call(context: Context<'_>, input: WorkspaceCheckpointsInput) -> Result<CheckpointPageView> {
        let which = WorkspaceReference::parse(&input.workspace)?;
        let query = CheckpointQuery {
            limit: input.limit.map_or(USUAL, |limit| limit as usize),
            before: input.cursor.map(|cursor| cursor.place()).transpose()?,
        };
        let page = context
            .services
            .workspaces
            .checkpoints(context.caller, &which, query)
            .await?;
        Ok(page.into())
    }
}

impl From<CheckpointPage> for CheckpointPageView {
    fn from(page: CheckpointPage) -> Self {
        let checkpoints: Vec<CheckpointView> = page
            .checkpoints
            .into_iter()
            .filter_map(CheckpointView::of)
            .collect();
        let next = checkpoints.last().filter(|_| page.more);
        Self {
            next_cursor: next.map(|last| Cursor::at(last.number)),
            checkpoints,
            truncated: false,
        }
    }
}

impl CheckpointView {
    fn of(listed: ListedCheckpoint) -> Option<Self> {
        let checkpoint = listed.checkpoint;
        Some(Self {
            number: checkpoint.number?,
            after: checkpoint.operation,
            by: checkpoint.by,
            at: checkpoint.at.to_string(),
            branch: checkpoint.head.branch,
            head: checkpoint.head.commit.map(|id| id.to_string()),
            changed: listed.changed_count,
            files: listed.changed.into_iter().map(|change| change.path).collect(),
        })
    }
}
