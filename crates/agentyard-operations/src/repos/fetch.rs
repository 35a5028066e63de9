//! `repo_fetch`: what is new on a repository's remote.

use agentyard_model::{Permission, RepoName, Toolset};
use agentyard_services::{RefChange, RepoFetched, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct RepoFetch;

/// Fetch what is new on a repository's remote into its mirror. Branches of workspaces
/// stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepoFetchInput {
    /// Repository: name or id.
    repo: String,
}

impl Operation for RepoFetch {
    const NAME: &'static str = "repo_fetch";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/repos/{repo}/fetch");
    type Input = RepoFetchInput;
    type Output = RepoFetchView;

    async fn call(context: Context<'_>, input: RepoFetchInput) -> Result<RepoFetchView> {
        let repos = &context.services.repos;
        let fetched = repos.fetch(context.caller, &input.repo, context.progress).await?;
        Ok(fetched.into())
    }
}

/// What moved.
#[derive(Serialize, JsonSchema)]
pub(super) struct RepoFetchView {
    /// The repository.
    repo: RepoName,
    /// Its default branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_branch: Option<String>,
    /// The mirror was made by this call, so that all of it is new.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    created: bool,
    /// References of the remote that are new or moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    updated: Vec<UpdatedView>,
    /// References that the remote has no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pruned: Vec<String>,
    /// So many more changed that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

/// A reference that is new or moved.
#[derive(Serialize, JsonSchema)]
struct UpdatedView {
    /// Its name.
    name: String,
    /// Where it was; left out when it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    /// Where it is.
    new: String,
}

/// How many references are listed.
const LISTED: usize = 1000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Output for RepoFetchView {
    fn item_count(&self) -> usize {
        self.updated.len()
    }

    fn keep(&mut self, count: usize) {
        self.more += self.updated.len().saturating_sub(count);
        self.updated.truncate(count);
    }
}

impl From<RepoFetched> for RepoFetchView {
    fn from(fetched: RepoFetched) -> Self {
        let mut view = Self {
            repo: fetched.repo.name,
            default_branch: fetched.repo.default_branch,
            created: fetched.created,
            updated: Vec::new(),
            pruned: Vec::new(),
            more: fetched.changes.len().saturating_sub(LISTED),
        };
        for RefChange { name, old, new } in fetched.changes.into_iter().take(LISTED) {
            match new {
                Some(new) => view.updated.push(UpdatedView {
                    name,
                    old: old.map(|id| id.to_string()),
                    new: new.to_string(),
                }),
                None => view.pruned.push(name),
            }
        }
        view
    }
}
