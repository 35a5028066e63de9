//! `git_worktree`: working trees beside the main one.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    In, Result, Worktree, WorktreeAnswer, WorktreeChange, WorktreeMode, WorktreeRequest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::left_out::LeftOutView;
use super::short_id::short_id;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitWorktree;

/// List, add, move, lock, remove and prune working trees. Changes in one that is removed
/// are kept under `refs/agentyard/kept`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitWorktreeInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// What to do.
    #[serde(default)]
    mode: Mode,
    /// Absolute, or relative to the repository's top.
    worktree_path: Option<String>,
    /// add: existing or new; named like the directory by default.
    branch: Option<String>,
    /// add: start of a new branch, or what to check out.
    commitish: Option<String>,
    /// add: without a branch.
    #[serde(default)]
    detach: bool,
    /// add: a branch that is checked out elsewhere.
    #[serde(default)]
    force: bool,
    /// move: where to.
    new_path: Option<String>,
    /// lock: why.
    reason: Option<String>,
    /// prune: only tell.
    #[serde(default)]
    dry_run: bool,
    /// Needed to remove one with changes.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    #[default]
    List,
    Add,
    Remove,
    Move,
    Prune,
    Lock,
    Unlock,
}

impl Operation for GitWorktree {
    const NAME: &'static str = "git_worktree";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const READING_MODES: &'static [&'static str] = &["list"];
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::post("/v1/git/worktree");
    type Input = GitWorktreeInput;
    type Output = WorktreesView;

    async fn call(context: Context<'_>, input: GitWorktreeInput) -> Result<WorktreesView> {
        let request = WorktreeRequest {
            mode: input.mode.into(),
            worktree_path: input.worktree_path,
            branch: input.branch,
            commitish: input.commitish,
            detach: input.detach,
            force: input.force,
            new_path: input.new_path,
            reason: input.reason,
            dry_run: input.dry_run,
            confirm: input.confirm,
        };
        let repositories = &context.services.repositories;
        let answer = repositories
            .worktree(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(answer.into())
    }
}

impl From<Mode> for WorktreeMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::List => Self::List,
            Mode::Add => Self::Add,
            Mode::Remove => Self::Remove,
            Mode::Move => Self::Move,
            Mode::Prune => Self::Prune,
            Mode::Lock => Self::Lock,
            Mode::Unlock => Self::Unlock,
        }
    }
}

/// Working trees, or what became of one.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct WorktreesView {
    /// The repository's directory.
    repository: String,
    /// The working trees, the main one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1001))]
    worktrees: Option<Vec<WorktreeRow>>,
    /// There are more than fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the working tree is that was changed, or was.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    /// Where it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    /// Its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// References under which is kept what only it had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    kept: Vec<String>,
    /// Working trees that were forgotten, or would be, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pruned: Option<Vec<String>>,
    #[serde(flatten)]
    left_out: Option<LeftOutView>,
}

/// A working tree.
#[derive(Serialize, JsonSchema)]
struct WorktreeRow {
    /// Where it is.
    path: String,
    /// What it has checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// It has no branch checked out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detached: bool,
    /// It is a bare repository.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    /// It is locked, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    locked: Option<String>,
    /// Why prune would forget it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prunable: Option<&'static str>,
    /// It is the repository's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    main: bool,
    /// It is the one in which this call works.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    current: bool,
}

impl Output for WorktreesView {
    const LEVELS: &'static [LevelledField] = &[("worktrees.commit", Level::Standard)];

    fn item_count(&self) -> usize {
        self.worktrees.as_ref().map_or(0, Vec::len)
    }

    fn keep(&mut self, count: usize) {
        if let Some(worktrees) = &mut self.worktrees {
            worktrees.truncate(count);
        }
        self.truncated = true;
    }
}

impl From<In<WorktreeAnswer>> for WorktreesView {
    fn from(answer: In<WorktreeAnswer>) -> Self {
        let view = match answer.result {
            WorktreeAnswer::List(list) => Self {
                truncated: list.truncated,
                worktrees: Some(list.worktrees.into_iter().map(WorktreeRow::from).collect()),
                ..Self::default()
            },
            WorktreeAnswer::Changed(change) => Self::of_change(change),
            WorktreeAnswer::Pruned(pruned) => Self {
                truncated: pruned.len() > 1000,
                pruned: Some(pruned.into_iter().take(1000).collect()),
                ..Self::default()
            },
        };
        Self {
            repository: answer.repository.display().to_string(),
            ..view
        }
    }
}

impl WorktreesView {
    fn of_change(change: WorktreeChange) -> Self {
        Self {
            worktree: Some(change.path),
            moved_from: change.moved_from,
            branch: change.branch,
            commit: change.commit.map(|id| id.to_string()),
            kept: change.kept.into_iter().map(|kept| kept.reference).collect(),
            left_out: Some(change.left_out.into()),
            ..Self::default()
        }
    }
}

impl From<Worktree> for WorktreeRow {
    fn from(worktree: Worktree) -> Self {
        Self {
            path: worktree.place.path().unwrap_or("outside the roots").to_owned(),
            branch: worktree.branch,
            commit: worktree.head.map(short_id),
            detached: worktree.detached,
            bare: worktree.bare,
            locked: worktree.locked,
            prunable: worktree.prunable,
            main: worktree.main,
            current: worktree.current,
        }
    }
}
