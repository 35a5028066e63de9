//! `git_reset`: moving a branch, and unstaging.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{In, ResetDone, ResetMode, ResetRequest, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept;
use super::left_out::LeftOutView;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitReset;

/// Move the current branch to a commit, or unstage files with `paths`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitResetInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// `soft` keeps the index, `mixed` (default) unstages, `hard` discards changes, `merge` keeps unstaged
    /// ones, `keep` keeps all or fails.
    #[serde(default)]
    mode: Mode,
    /// Commit; HEAD by default.
    target: Option<String>,
    /// Only unstage these files.
    #[serde(default)]
    paths: Vec<String>,
    /// Needed when commits or changes would be lost; they are kept.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    Soft,
    #[default]
    Mixed,
    Hard,
    Merge,
    Keep,
}

impl From<Mode> for ResetMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Soft => Self::Soft,
            Mode::Mixed => Self::Mixed,
            Mode::Hard => Self::Hard,
            Mode::Merge => Self::Merge,
            Mode::Keep => Self::Keep,
        }
    }
}

impl Operation for GitReset {
    const NAME: &'static str = "git_reset";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/reset");
    type Input = GitResetInput;
    type Output = ResetView;

    async fn call(context: Context<'_>, input: GitResetInput) -> Result<ResetView> {
        let request = ResetRequest {
            mode: input.mode.into(),
            target: input.target,
            paths: input.paths,
            confirm: input.confirm,
        };
        let done = context
            .services
            .repositories
            .reset(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(done.into())
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct ResetView {
    /// The repository's directory.
    repository: String,
    /// Left out when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The commit that is checked out now.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// The one that was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_commit: Option<String>,
    /// How many commits left the branch.
    #[serde(skip_serializing_if = "is_zero")]
    commits_removed: usize,
    /// Files that are not staged any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20_000))]
    unstaged: Vec<String>,
    /// References that hold what was thrown away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    kept: Vec<String>,
    /// Whether files were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(flatten)]
    left_out: LeftOutView,
}

impl Output for ResetView {
    fn item_count(&self) -> usize {
        self.unstaged.len()
    }

    fn keep(&mut self, count: usize) {
        self.unstaged.truncate(count);
        self.truncated = true;
    }
}

impl From<In<ResetDone>> for ResetView {
    fn from(done: In<ResetDone>) -> Self {
        let In { repository, result } = done;
        Self {
            repository: repository.display().to_string(),
            branch: result.head.branch,
            head: result.head.commit.map(|id| id.to_string()),
            previous_commit: result.previous.map(|id| id.to_string()),
            commits_removed: result.commits_removed,
            unstaged: result.unstaged,
            kept: kept::references(result.kept),
            truncated: false,
            left_out: result.left_out.into(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
