//! `git_fetch`: what is new on a remote.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{FetchRequest, Fetched, In, RefChange, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitFetch;

/// Fetch branches and tags from a remote, without touching the working tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitFetchInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Default: the branch's own, else `origin`.
    remote: Option<String>,
    /// Only this branch.
    branch: Option<String>,
    /// Forget branches that the remote has no more.
    #[serde(default)]
    prune: bool,
    /// All tags.
    #[serde(default)]
    tags: bool,
    /// Only so many commits of history.
    depth: Option<u32>,
    /// The rest of a shallow history.
    #[serde(default)]
    unshallow: bool,
}

impl Operation for GitFetch {
    const NAME: &'static str = "git_fetch";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/git/fetch");
    type Input = GitFetchInput;
    type Output = FetchView;

    async fn call(context: Context<'_>, input: GitFetchInput) -> Result<FetchView> {
        let request = FetchRequest {
            remote: input.remote,
            branch: input.branch,
            prune: input.prune,
            tags: input.tags,
            depth: input.depth,
            unshallow: input.unshallow,
        };
        let fetched = context
            .services
            .repositories
            .fetch(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(fetched.into())
    }
}

/// What moved.
#[derive(Serialize, JsonSchema)]
pub(super) struct FetchView {
    /// The repository's directory.
    repository: String,
    /// From where.
    remote: String,
    /// References that are new or moved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    updated: Vec<UpdatedView>,
    /// References that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pruned: Vec<String>,
    /// So many more changed that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

/// How many references are listed.
const LISTED: usize = 1000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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

impl Output for FetchView {
    fn item_count(&self) -> usize {
        self.updated.len()
    }

    fn keep(&mut self, count: usize) {
        self.updated.truncate(count);
    }
}

impl From<In<Fetched>> for FetchView {
    fn from(fetched: In<Fetched>) -> Self {
        let mut view = Self {
            repository: fetched.repository.display().to_string(),
            remote: fetched.result.remote,
            updated: Vec::new(),
            pruned: Vec::new(),
            more: fetched.result.changes.len().saturating_sub(LISTED),
        };
        for RefChange { name, old, new } in fetched.result.changes.into_iter().take(LISTED) {
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
