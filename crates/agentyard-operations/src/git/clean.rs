//! `git_clean`: removing what git does not know.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{CleanOutcome, CleanRequest, In, Lock, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitClean;

/// Remove untracked files, or stale lock files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitCleanInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Only say what would be removed.
    #[serde(default)]
    dry_run: bool,
    /// Untracked directories too.
    #[serde(default)]
    directories: bool,
    /// Ignored files too.
    #[serde(default)]
    ignored: bool,
    /// Only below these.
    #[serde(default)]
    paths: Vec<String>,
    /// Instead: list lock files and, with `confirm`, remove those that no process holds.
    #[serde(default)]
    stale_locks: bool,
    /// Needed to remove anything; files are kept first.
    #[serde(default)]
    confirm: bool,
}

impl Operation for GitClean {
    const NAME: &'static str = "git_clean";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/clean");
    type Input = GitCleanInput;
    type Output = CleanView;

    async fn call(context: Context<'_>, input: GitCleanInput) -> Result<CleanView> {
        let request = CleanRequest {
            dry_run: input.dry_run,
            directories: input.directories,
            ignored: input.ignored,
            paths: input.paths,
            confirm: input.confirm,
            stale_locks: input.stale_locks,
        };
        let dry_run = input.dry_run;
        let done = context
            .services
            .repositories
            .clean(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(CleanView::new(done, dry_run))
    }
}

/// What was removed.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct CleanView {
    /// The repository's directory.
    repository: String,
    /// Whether nothing was removed, only looked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// How many files.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// Those files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50_000))]
    files: Vec<String>,
    /// Directories that were empty then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50_000))]
    directories: Vec<String>,
    /// Repositories in the working tree, which are never removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50_000))]
    repositories_skipped: Vec<String>,
    /// The reference that holds the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
    kept: Vec<String>,
    /// Lock files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    locks: Option<Vec<LockView>>,
    /// Whether files were left out of this list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct LockView {
    lock: String,
    age_seconds: u64,
    /// Why it is taken for somebody's; left out when nobody holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    removed: bool,
}

impl Output for CleanView {
    fn item_count(&self) -> usize {
        self.files.len()
            + self.directories.len()
            + self.repositories_skipped.len()
            + self.locks.as_ref().map_or(0, Vec::len)
    }

    fn keep(&mut self, mut count: usize) {
        if let Some(locks) = &mut self.locks {
            locks.truncate(count);
        }
        for list in [
            &mut self.repositories_skipped,
            &mut self.directories,
            &mut self.files,
        ] {
            list.truncate(count);
            count -= list.len();
        }
        self.truncated = true;
    }
}

impl From<Lock> for LockView {
    fn from(lock: Lock) -> Self {
        Self {
            lock: lock.path,
            age_seconds: lock.age_seconds,
            held: lock.held,
            removed: lock.removed,
        }
    }
}

impl CleanView {
    fn new(done: In<CleanOutcome>, dry_run: bool) -> Self {
        let view = Self {
            repository: done.repository.display().to_string(),
            dry_run,
            ..Self::default()
        };
        match done.result {
            CleanOutcome::Files(cleaned) => Self {
                total: Some(cleaned.files.len()),
                files: cleaned.files,
                directories: cleaned.directories,
                repositories_skipped: cleaned.repositories,
                kept: kept::references(cleaned.kept.into_iter().collect()),
                ..view
            },
            CleanOutcome::Locks(locks) => Self {
                locks: Some(locks.into_iter().map(Into::into).collect()),
                ..view
            },
        }
    }
}
