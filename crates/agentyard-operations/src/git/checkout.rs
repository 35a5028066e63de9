//! `git_checkout`: branches, commits, and files as they were.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{CheckedOut, CheckoutRequest, Head, In, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kept;
use super::left_out::LeftOutView;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitCheckout;

/// Check out a branch, tag or commit, or restore files with `paths`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitCheckoutInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Branch, remote branch, tag or commit; the new branch's name with `create_branch`; with `paths`, the
    /// commit to take files from (default: the index).
    target: Option<String>,
    /// Create the branch `target`.
    #[serde(default)]
    create_branch: bool,
    /// Where the new branch begins; HEAD by default.
    start_point: Option<String>,
    /// Restore only these files.
    #[serde(default)]
    paths: Vec<String>,
    /// Check out the commit, not the branch.
    #[serde(default)]
    detach: bool,
    /// Create a local branch that follows the remote one.
    track: Option<bool>,
    /// Discard local changes.
    #[serde(default)]
    force: bool,
    /// Needed when changes would be lost; they are kept.
    #[serde(default)]
    confirm: bool,
}

impl Operation for GitCheckout {
    const NAME: &'static str = "git_checkout";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/checkout");
    type Input = GitCheckoutInput;
    type Output = CheckoutView;

    async fn call(context: Context<'_>, input: GitCheckoutInput) -> Result<CheckoutView> {
        let request = CheckoutRequest {
            target: input.target,
            create_branch: input.create_branch,
            start_point: input.start_point,
            detach: input.detach,
            track: input.track,
            force: input.force,
            paths: input.paths,
            confirm: input.confirm,
        };
        let done = context
            .services
            .repositories
            .checkout(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(done.into())
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckoutView {
    /// The repository's directory.
    repository: String,
    #[serde(flatten)]
    head: HeadView,
    /// What was checked out before; left out when that is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<HeadView>,
    /// Whether the branch was made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    created: bool,
    /// How many files of the working tree changed.
    files_changed: usize,
    /// References that hold what was thrown away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
    kept: Vec<String>,
    #[serde(flatten)]
    left_out: LeftOutView,
}

#[derive(Serialize, JsonSchema)]
struct HeadView {
    /// Left out when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The commit; left out before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
}

impl Output for CheckoutView {}

impl From<Head> for HeadView {
    fn from(head: Head) -> Self {
        Self {
            branch: head.branch,
            head: head.commit.map(|id| id.to_string()),
        }
    }
}

impl From<In<CheckedOut>> for CheckoutView {
    fn from(done: In<CheckedOut>) -> Self {
        let In { repository, result } = done;
        Self {
            repository: repository.display().to_string(),
            previous: (result.previous != result.head).then(|| result.previous.into()),
            head: result.head.into(),
            created: result.created,
            files_changed: result.files_changed,
            kept: kept::references(result.kept),
            left_out: result.left_out.into(),
        }
    }
}
