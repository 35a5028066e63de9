//! `git_add`: staging.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{AddRequest, Added, In, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changed_files::{ChangedFiles, conflicted_paths};
use super::left_out::LeftOutView;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitAdd;

/// Stage changes for the next commit: whole files, or single hunks with `patch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitAddInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Files and directories, relative to the repository's top.
    #[serde(default)]
    paths: Vec<String>,
    /// Everything that changed, new and deleted files included.
    #[serde(default)]
    all: bool,
    /// Only files that are tracked already.
    #[serde(default)]
    update: bool,
    /// Also ignored files.
    #[serde(default)]
    force: bool,
    /// Unified diff to stage without touching the working tree.
    patch: Option<String>,
}

impl Operation for GitAdd {
    const NAME: &'static str = "git_add";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/add");
    type Input = GitAddInput;
    type Output = AddView;

    async fn call(context: Context<'_>, input: GitAddInput) -> Result<AddView> {
        let request = AddRequest {
            paths: input.paths,
            all: input.all,
            update: input.update,
            force: input.force,
            patch: input.patch,
        };
        let added = context
            .services
            .repositories
            .add(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(added.into())
    }
}

/// What is staged now.
#[derive(Serialize, JsonSchema)]
pub(super) struct AddView {
    /// The repository's directory.
    repository: String,
    /// How many files the next commit will change.
    total: usize,
    /// Those files.
    #[serde(skip_serializing_if = "ChangedFiles::is_empty")]
    staged: ChangedFiles,
    /// Files with unresolved conflicts; staging one resolves it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    conflicted: Vec<String>,
    /// Whether files were left out; git_status has them all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(flatten)]
    left_out: LeftOutView,
}

impl Output for AddView {
    fn item_count(&self) -> usize {
        self.staged.len() + self.conflicted.len()
    }

    fn keep(&mut self, count: usize) {
        self.conflicted.truncate(count);
        self.staged.truncate(count - self.conflicted.len());
        self.truncated = true;
    }
}

impl From<In<Added>> for AddView {
    fn from(added: In<Added>) -> Self {
        let In { repository, result } = added;
        Self {
            repository: repository.display().to_string(),
            total: result.staging.staged.len(),
            staged: result.staging.staged.into(),
            conflicted: conflicted_paths(result.staging.conflicted),
            truncated: result.staging.truncated,
            left_out: result.left_out.into(),
        }
    }
}
