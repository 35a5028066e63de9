//! `git_pull`: fetching a branch and joining it with what is checked out.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{In, PullRequest, PullStrategy, Pulled, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitPull;

/// Fetch a branch and fast-forward, merge or rebase the current branch with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitPullInput {
    /// Repository directory: absolute, or `.` (default) for the working directory.
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
    /// How the two were joined: `up_to_date`, `fast_forward`, `merge` or `rebase`.
    strategy: &'static str,
    /// What is checked out now.
    commit: String,
    /// What was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// Files that are other than before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    files_changed: Vec<String>,
    /// Files with conflicts: resolve and stage them, then continue the merge or rebase, or abort it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    conflicts: Vec<String>,
}

impl Output for PullView {
    fn item_count(&self) -> usize {
        self.files_changed.len()
    }

    fn keep(&mut self, count: usize) {
        self.files_changed.truncate(count);
    }
}

impl From<In<Pulled>> for PullView {
    fn from(pulled: In<Pulled>) -> Self {
        let In { repository, result } = pulled;
        let commit = result.commit.to_string();
        Self {
            repository: repository.display().to_string(),
            remote: result.remote,
            branch: result.branch,
            strategy: match result.strategy {
                PullStrategy::UpToDate => "up_to_date",
                PullStrategy::FastForward => "fast_forward",
                PullStrategy::Merge => "merge",
                PullStrategy::Rebase => "rebase",
            },
            previous: result
                .previous
                .map(|id| id.to_string())
                .filter(|previous| *previous != commit),
            commit,
            files_changed: result.files_changed,
            conflicts: result.conflicts.into_iter().take(1000).collect(),
        }
    }
}
