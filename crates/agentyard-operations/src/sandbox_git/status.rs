//! `sandbox_status`: what is new in a sandbox's working tree.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Result, SandboxChange, SandboxStatus as Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxStatus;

/// Git status of the repository in a sandbox that `sandbox_clone` made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxStatusInput {
    /// Its id.
    sandbox: SandboxId,
}

/// How a working tree stands.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatusView {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    base: String,
    /// Commits that the base has not.
    #[serde(skip_serializing_if = "is_zero")]
    ahead: u64,
    /// Commits of the base that it has not, as last fetched.
    #[serde(skip_serializing_if = "is_zero")]
    behind: u64,
    clean: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    changes: Vec<ChangeView>,
    /// There are more changes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A file that changed.
#[derive(Serialize, JsonSchema)]
struct ChangeView {
    path: String,
    /// Where it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// In the index: M, A, D, R, C or T.
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<String>,
    /// In the working tree: the same, or `?` for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    unstaged: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    conflict: bool,
}

impl Output for StatusView {
    fn item_count(&self) -> usize {
        self.changes.len()
    }

    fn keep(&mut self, count: usize) {
        self.changes.truncate(count);
        self.truncated = true;
    }
}

impl Operation for SandboxStatus {
    const NAME: &'static str = "sandbox_status";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandboxes/{sandbox}/git/status");
    const ALIASES: &'static [(&'static str, &'static str)] = &[("sandbox_id", "sandbox")];
    type Input = SandboxStatusInput;
    type Output = StatusView;

    async fn call(context: Context<'_>, input: SandboxStatusInput) -> Result<StatusView> {
        let git = &context.services.sandbox_git;
        Ok(git.status(context.caller, input.sandbox).await?.into())
    }
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        Self {
            branch: status.branch,
            head: status.head,
            base: status.base,
            ahead: status.ahead,
            behind: status.behind,
            clean: status.changes.is_empty(),
            changes: status.changes.into_iter().map(Into::into).collect(),
            truncated: status.is_cut,
        }
    }
}

impl From<SandboxChange> for ChangeView {
    fn from(change: SandboxChange) -> Self {
        Self {
            path: change.path,
            from: change.from,
            staged: change.staged.map(String::from),
            unstaged: change.unstaged.map(String::from),
            conflict: change.is_conflicted,
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
