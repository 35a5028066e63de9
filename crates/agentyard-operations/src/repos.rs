//! Registered repositories: `repo_add`, `repo_list`, `repo_get`, `repo_fetch`, `repo_branches`, `repo_remove`.

mod branches;
mod fetch;
mod view;

use agentyard_model::{Cursor, PageRequest, Permission, RepoName, Toolset};
use agentyard_services::{RepoRequest, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;
use crate::registry::Entry;
use view::{RepoDetailsView, RepoPageView, RepoView};

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<RepoAdd>(),
    Entry::of::<RepoList>(),
    Entry::of::<RepoGet>(),
    Entry::of::<fetch::RepoFetch>(),
    Entry::of::<branches::RepoBranches>(),
    Entry::of::<RepoRemove>(),
];

struct RepoAdd;

/// Register a repository, so that workspaces can be made of it. It is mirrored when it
/// is first used. Registering it again changes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoAddInput {
    /// `https://…`, `user@host:path`, `ssh://…`, or an absolute path; without token.
    url: String,
    /// What to call it; by default as in the address.
    name: Option<RepoName>,
    /// By default the remote's own.
    default_branch: Option<String>,
}

impl Operation for RepoAdd {
    const NAME: &'static str = "repo_add";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/repos");
    type Input = RepoAddInput;
    type Output = RepoView;

    async fn call(context: Context<'_>, input: RepoAddInput) -> Result<RepoView> {
        let request = RepoRequest {
            url: input.url,
            name: input.name,
            default_branch: input.default_branch,
        };
        let repo = context.services.repos.add(context.caller, request).await?;
        Ok(repo.into())
    }
}

struct RepoList;

/// List the registered repositories by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoListInput {
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for RepoList {
    const NAME: &'static str = "repo_list";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/repos");
    type Input = RepoListInput;
    type Output = RepoPageView;

    async fn call(context: Context<'_>, input: RepoListInput) -> Result<RepoPageView> {
        let page = PageRequest::new(input.limit, input.cursor);
        let repos = context.services.repos.list(context.caller, page).await?;
        Ok(repos.into())
    }
}

struct RepoGet;

/// Show a registered repository and the workspaces that are open of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoGetInput {
    /// Repository: name or id.
    repo: String,
}

impl Operation for RepoGet {
    const NAME: &'static str = "repo_get";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/repos/{repo}");
    type Input = RepoGetInput;
    type Output = RepoDetailsView;

    async fn call(context: Context<'_>, input: RepoGetInput) -> Result<RepoDetailsView> {
        let details = context.services.repos.get(context.caller, &input.repo).await?;
        Ok(details.into())
    }
}

struct RepoRemove;

/// Forget a repository and delete its mirror, with every branch, checkpoint and kept
/// reference there that was not pushed. Its workspaces must be closed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoRemoveInput {
    /// Repository: name or id.
    repo: String,
    /// Needed.
    #[serde(default)]
    confirm: bool,
}

/// A repository that is gone.
#[derive(Serialize, JsonSchema)]
struct RemovedView {
    /// What it was called.
    removed: RepoName,
}

impl Output for RemovedView {}

impl Operation for RepoRemove {
    const NAME: &'static str = "repo_remove";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectDelete);
    const ROUTE: Route = Route::delete("/v1/repos/{repo}");
    type Input = RepoRemoveInput;
    type Output = RemovedView;

    async fn call(context: Context<'_>, input: RepoRemoveInput) -> Result<RemovedView> {
        let repos = &context.services.repos;
        let removed = repos
            .remove(context.caller, &input.repo, input.confirm, context.progress)
            .await?;
        Ok(RemovedView { removed })
    }
}
