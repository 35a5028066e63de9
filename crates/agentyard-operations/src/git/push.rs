//! `git_push`: sending commits to a remote.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{In, PushOutcome, PushRequest, Pushed, PushedRef, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

use super::left_out::LeftOutView;

pub(super) struct GitPush;

/// Push a branch. When the remote has moved, fetches, rebases and tries again; on conflict nothing changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitPushInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Default: the branch's own, else `origin`.
    remote: Option<String>,
    /// Default: the current one.
    branch: Option<String>,
    /// Its name there, if another.
    remote_branch: Option<String>,
    /// Follow the remote branch from now on.
    #[serde(default)]
    set_upstream: bool,
    /// All tags too.
    #[serde(default)]
    tags: bool,
    /// Replace what is there; needs `confirm`.
    #[serde(default)]
    force: bool,
    /// As `force`, only if the remote is as last fetched.
    #[serde(default)]
    force_with_lease: bool,
    /// Delete the remote branch; needs `confirm`.
    #[serde(default)]
    delete: bool,
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
    /// Yes, drop commits there; they are kept.
    #[serde(default)]
    confirm: bool,
    /// `false`: fail when the remote has moved.
    rebase_on_reject: Option<bool>,
}

impl Operation for GitPush {
    const NAME: &'static str = "git_push";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/git/push");
    type Input = GitPushInput;
    type Output = PushView;

    async fn call(context: Context<'_>, input: GitPushInput) -> Result<PushView> {
        let request = PushRequest {
            remote: input.remote,
            branch: input.branch,
            remote_branch: input.remote_branch,
            set_upstream: input.set_upstream,
            tags: input.tags,
            force: input.force,
            force_with_lease: input.force_with_lease,
            delete: input.delete,
            dry_run: input.dry_run,
            confirm: input.confirm,
            rebase_on_reject: input.rebase_on_reject.unwrap_or(true),
        };
        let pushed = context
            .services
            .repositories
            .push(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(pushed.into())
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct PushView {
    /// The repository's directory.
    repository: String,
    /// Where to.
    remote: String,
    /// The branch there.
    branch: String,
    /// What became of each reference there.
    #[schemars(length(max = 1000))]
    refs: Vec<PushedRefView>,
    /// The branch follows that of the remote now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    upstream_set: bool,
    /// Where what was replaced or deleted is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    /// The remote had moved; the branch was rebased on this first.
    #[serde(skip_serializing_if = "Option::is_none")]
    rebased_onto: Option<String>,
    /// The remote had moved and these files conflict. Nothing was pushed, nothing changed: git_pull, then resolve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    conflicts: Vec<String>,
    #[serde(flatten)]
    left_out: LeftOutView,
}

/// What became of a reference.
#[derive(Serialize, JsonSchema)]
struct PushedRefView {
    /// Its name there.
    name: String,
    /// `created`, `updated`, `forced`, `deleted`, `up_to_date` or `rejected`.
    outcome: &'static str,
    /// The range, or the reason.
    detail: String,
}

impl Output for PushView {
    fn item_count(&self) -> usize {
        self.refs.len()
    }

    fn keep(&mut self, count: usize) {
        self.refs.truncate(count);
    }
}

impl From<In<Pushed>> for PushView {
    fn from(pushed: In<Pushed>) -> Self {
        let In { repository, result } = pushed;
        Self {
            repository: repository.display().to_string(),
            remote: result.remote,
            branch: result.branch,
            refs: result
                .refs
                .into_iter()
                .take(1000)
                .map(PushedRefView::from)
                .collect(),
            upstream_set: result.upstream_set,
            kept: result.kept.map(|kept| kept.reference),
            rebased_onto: result.rebased_onto.map(|id| id.to_string()),
            conflicts: result.conflicts.into_iter().take(1000).collect(),
            left_out: result.left_out.into(),
        }
    }
}

impl From<PushedRef> for PushedRefView {
    fn from(pushed: PushedRef) -> Self {
        Self {
            name: pushed.name,
            outcome: match pushed.outcome {
                PushOutcome::Created => "created",
                PushOutcome::Updated => "updated",
                PushOutcome::Forced => "forced",
                PushOutcome::Deleted => "deleted",
                PushOutcome::UpToDate => "up_to_date",
                PushOutcome::Rejected => "rejected",
            },
            detail: pushed.detail,
        }
    }
}
