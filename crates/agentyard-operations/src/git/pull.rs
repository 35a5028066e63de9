//! `git_pull`: fetching a branch and joining it with what is checked out.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    In, Integrated, IntegrationResult, OperationInProgress, PullRequest, Pulled, Result,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aftermath::{Aftermath, NamedFiles};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitPull;

/// Fetch a branch and fast-forward, merge or rebase the current branch with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitPullInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Default: the branch's own, else `origin`.
    remote: Option<String>,
    /// Default: the upstream, else the same name.
    branch: Option<String>,
    /// Put own commits on top instead of merging.
    rebase: Option<bool>,
    /// Fail when there are own commits.
    #[serde(default)]
    fast_forward_only: bool,
}

impl Operation for GitPull {
    const NAME: &'static str = "git_pull";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/git/pull");
    type Input = GitPullInput;
    type Output = PullView;

    async fn call(context: Context<'_>, input: GitPullInput) -> Result<PullView> {
        let request = PullRequest {
            remote: input.remote,
            branch: input.branch,
            rebase: input.rebase,
            fast_forward_only: input.fast_forward_only,
        };
        let pulled = context
            .services
            .repositories
            .pull(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(pulled.into())
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct PullView {
    /// The repository's directory.
    repository: String,
    /// From where.
    remote: String,
    /// The branch there.
    branch: String,
    /// `up_to_date`, `fast_forward`, `merged`, `rebased` or `conflicts`.
    result: &'static str,
    /// What is checked out now.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// What was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    #[serde(flatten)]
    files: NamedFiles,
    #[serde(flatten)]
    aftermath: Aftermath,
}

impl Output for PullView {
    fn item_count(&self) -> usize {
        self.aftermath.item_count()
    }

    fn keep(&mut self, count: usize) {
        self.aftermath.keep(count);
    }
}

impl From<In<Pulled>> for PullView {
    fn from(pulled: In<Pulled>) -> Self {
        let In { repository, result } = pulled;
        let Integrated {
            result: outcome,
            previous,
            head,
            changed,
            kept,
            left_out,
        } = result.integrated;
        let operation = if kept.is_some() {
            OperationInProgress::Rebase
        } else {
            OperationInProgress::Merge
        };
        let mut aftermath = Aftermath::new(kept, left_out);
        let name = match outcome {
            IntegrationResult::UpToDate | IntegrationResult::WouldConflict(_) => "up_to_date",
            IntegrationResult::FastForward => "fast_forward",
            IntegrationResult::Merged => "merged",
            IntegrationResult::Rebased { .. } => "rebased",
            IntegrationResult::Stopped(conflicts) => {
                aftermath.stopped(Some(operation), conflicts);
                "conflicts"
            }
        };
        Self {
            repository: repository.display().to_string(),
            remote: result.remote,
            branch: result.branch,
            result: name,
            previous: previous
                .filter(|previous| Some(previous) != head.as_ref())
                .map(|id| id.to_string()),
            head: head.map(|id| id.to_string()),
            files: changed.into(),
            aftermath,
        }
    }
}
