//! `git_commit`.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{CommitRequest, Committed, In, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changed_files::ChangedFiles;
use super::left_out::LeftOutView;
use super::status::operation_name;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitCommit;

/// Commit what is staged. If it fails, nothing stays staged that was not before.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitCommitInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Commit message. May be left out with `amend` or to conclude a merge.
    message: Option<String>,
    /// Stage these files first.
    #[serde(default)]
    files_to_stage: Vec<String>,
    /// Replace the last commit.
    #[serde(default)]
    amend: bool,
    /// `Name <email>`.
    author: Option<String>,
    /// Lines for the end of the message: `Key: value`.
    #[serde(default)]
    trailers: Vec<String>,
    /// Add `Signed-off-by`.
    #[serde(default)]
    signoff: bool,
    /// Whether to sign; as configured by default.
    sign: Option<bool>,
    /// Commit even without changes.
    #[serde(default)]
    allow_empty: bool,
    /// Skip the pre-commit and commit-msg hooks.
    #[serde(default)]
    no_verify: bool,
}

impl Operation for GitCommit {
    const NAME: &'static str = "git_commit";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/commit");
    type Input = GitCommitInput;
    type Output = CommitView;

    async fn call(context: Context<'_>, input: GitCommitInput) -> Result<CommitView> {
        let request = CommitRequest {
            message: input.message,
            trailers: input.trailers,
            signoff: input.signoff,
            author: input.author,
            amend: input.amend,
            allow_empty: input.allow_empty,
            no_verify: input.no_verify,
            sign: input.sign,
            files_to_stage: input.files_to_stage,
        };
        let committed = context
            .services
            .repositories
            .commit(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(committed.into())
    }
}

/// The commit that was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommitView {
    /// The repository's directory.
    repository: String,
    commit: String,
    /// Left out when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    subject: String,
    author: String,
    /// How many files differ from the first parent.
    files_changed: usize,
    /// Left out for merges.
    #[serde(skip_serializing_if = "Option::is_none")]
    insertions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletions: Option<usize>,
    /// Those files.
    #[serde(skip_serializing_if = "ChangedFiles::is_empty")]
    files: ChangedFiles,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    signed: bool,
    /// The commit that it took the place of; still in the reflog.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
    /// An operation that still waits to be continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    /// Whether files were left out; git_show has them all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(flatten)]
    left_out: LeftOutView,
}

impl Output for CommitView {
    fn item_count(&self) -> usize {
        self.files.len()
    }

    fn keep(&mut self, count: usize) {
        self.files.truncate(count);
        self.truncated = true;
    }
}

impl From<In<Committed>> for CommitView {
    fn from(committed: In<Committed>) -> Self {
        let In { repository, result } = committed;
        Self {
            repository: repository.display().to_string(),
            commit: result.id.to_string(),
            branch: result.branch,
            subject: result.subject,
            author: format!("{} <{}>", result.author.name, result.author.email),
            files_changed: result.files.len(),
            insertions: result.lines.map(|lines| lines.insertions),
            deletions: result.lines.map(|lines| lines.deletions),
            files: result.files.into(),
            signed: result.signed,
            replaced: result.replaced.map(|id| id.to_string()),
            operation: result.operation.map(operation_name),
            truncated: result.files_truncated,
            left_out: result.left_out.into(),
        }
    }
}
