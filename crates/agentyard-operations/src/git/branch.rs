//! `git_branch`: branches.

mod base;
mod view;

use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{BranchMode, BranchRequest, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::operation::{Access, Context, Effect, Operation, Route};
use base::Base;
use view::BranchView;

/// How many branches a page has when nobody says.
const DEFAULT_LIMIT: u32 = 200;

/// The most branches in a page.
const MAX_LIMIT: u32 = 1000;

pub(super) struct GitBranch;

/// List, create, delete and rename branches, or set their upstream. Commits that lose
/// their branch are kept under `refs/agentyard/kept`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitBranchInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// What to do.
    #[serde(default)]
    mode: Mode,
    /// The branch; to rename or for an upstream, the current one by default.
    branch_name: Option<String>,
    /// rename: the new name.
    new_branch_name: Option<String>,
    /// create: the commit (default HEAD), or a remote branch to follow.
    start_point: Option<String>,
    /// set_upstream: such as `origin/main`.
    upstream: Option<String>,
    /// Move or replace a branch, delete an unmerged one.
    #[serde(default)]
    force: bool,
    /// Needed to delete, move or replace.
    #[serde(default)]
    confirm: bool,
    /// list, delete: remote-tracking branches.
    #[serde(default)]
    remote: bool,
    /// list: these and local ones.
    #[serde(default)]
    all: bool,
    /// list: into this commit, or `true` for HEAD.
    merged: Option<Base>,
    /// list: the opposite.
    no_merged: Option<Base>,
    /// list: that have this commit.
    contains: Option<String>,
    /// list: text in the name.
    pattern: Option<String>,
    /// list: order.
    #[serde(default)]
    sort: Sort,
    /// 200 by default.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    #[default]
    List,
    ShowCurrent,
    Create,
    Delete,
    Rename,
    SetUpstream,
    UnsetUpstream,
}

#[derive(Deserialize, JsonSchema, Default, PartialEq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Sort {
    #[default]
    Name,
    Newest,
}

impl Operation for GitBranch {
    const NAME: &'static str = "git_branch";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const READING_MODES: &'static [&'static str] = &["list", "show_current"];
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::post("/v1/git/branch");
    type Input = GitBranchInput;
    type Output = BranchView;

    async fn call(context: Context<'_>, input: GitBranchInput) -> Result<BranchView> {
        let request = BranchRequest {
            mode: input.mode.into(),
            name: input.branch_name,
            new_name: input.new_branch_name,
            start_point: input.start_point,
            upstream: input.upstream,
            force: input.force,
            confirm: input.confirm,
            remote: input.remote,
            all: input.all,
            merged: input.merged.and_then(Base::revision),
            no_merged: input.no_merged.and_then(Base::revision),
            contains: input.contains,
            pattern: input.pattern,
            newest_first: input.sort == Sort::Newest,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize,
            cursor: input.cursor,
        };
        let repositories = &context.services.repositories;
        let answer = repositories
            .branch(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(answer.into())
    }
}

impl From<Mode> for BranchMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::List => Self::List,
            Mode::ShowCurrent => Self::ShowCurrent,
            Mode::Create => Self::Create,
            Mode::Delete => Self::Delete,
            Mode::Rename => Self::Rename,
            Mode::SetUpstream => Self::SetUpstream,
            Mode::UnsetUpstream => Self::UnsetUpstream,
        }
    }
}
