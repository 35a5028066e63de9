//! `git_clone`: a copy of a repository.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{CloneRequest, Cloned, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitClone;

/// Clone a repository into a new or empty directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitCloneInput {
    /// `https://…`, `user@host:path`, `ssh://…`, or an absolute path; without token.
    url: String,
    /// Where to: absolute, or relative to the working directory.
    path: PathBuf,
    /// Branch to check out.
    branch: Option<String>,
    /// Only so many commits of history.
    depth: Option<u32>,
    /// Only one branch.
    #[serde(default)]
    single_branch: bool,
    /// Without working tree.
    #[serde(default)]
    bare: bool,
    /// Bare, with every reference.
    #[serde(default)]
    mirror: bool,
}

impl Operation for GitClone {
    const NAME: &'static str = "git_clone";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/git/clone");
    type Input = GitCloneInput;
    type Output = CloneView;

    async fn call(context: Context<'_>, input: GitCloneInput) -> Result<CloneView> {
        let request = CloneRequest {
            url: input.url,
            path: input.path,
            branch: input.branch,
            depth: input.depth,
            single_branch: input.single_branch,
            bare: input.bare,
            mirror: input.mirror,
        };
        let cloned = context
            .services
            .repositories
            .clone_repository(context.caller, request, context.progress)
            .await?;
        Ok(cloned.into())
    }
}

/// The clone.
#[derive(Serialize, JsonSchema)]
pub(super) struct CloneView {
    /// The new repository's directory.
    repository: String,
    /// Where it came from.
    url: String,
    /// What is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Its commit; left out when there are none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
}

impl Output for CloneView {}

impl From<Cloned> for CloneView {
    fn from(cloned: Cloned) -> Self {
        Self {
            repository: cloned.path.display().to_string(),
            url: cloned.url,
            branch: cloned.branch,
            commit: cloned.commit.map(|id| id.to_string()),
        }
    }
}
