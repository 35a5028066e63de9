//! `git_tag`: tags.

mod view;

use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{Result, TagMode, TagRequest, TagSort};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::operation::{Access, Context, Effect, Operation, Route};
use view::TagsView;

/// How many tags a page has when nobody says.
const DEFAULT_LIMIT: u32 = 100;

/// The most tags in a page.
const MAX_LIMIT: u32 = 1000;

pub(super) struct GitTag;

/// List, create, delete tags or verify their signature. What loses its tag is kept under
/// `refs/agentyard/kept`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitTagInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// What to do.
    #[serde(default)]
    mode: Mode,
    /// All modes but list.
    tag_name: Option<String>,
    /// create: default HEAD; list: only tags that have it.
    commit: Option<String>,
    /// create: makes it annotated.
    message: Option<String>,
    /// create: needs a message.
    #[serde(default)]
    annotated: bool,
    /// create: as your git settings say by default.
    sign: Option<bool>,
    /// create: move the tag.
    #[serde(default)]
    force: bool,
    /// Needed to delete or move.
    #[serde(default)]
    confirm: bool,
    /// list: text in the name.
    pattern: Option<String>,
    /// list: order.
    #[serde(default)]
    sort: Sort,
    /// 100 by default.
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
    Create,
    Delete,
    Verify,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Sort {
    #[default]
    Name,
    Version,
    Newest,
}

impl Operation for GitTag {
    const NAME: &'static str = "git_tag";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const READING_MODES: &'static [&'static str] = &["list", "verify"];
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::post("/v1/git/tag");
    type Input = GitTagInput;
    type Output = TagsView;

    async fn call(context: Context<'_>, input: GitTagInput) -> Result<TagsView> {
        let name = input.tag_name.clone();
        let request = TagRequest {
            mode: match input.mode {
                Mode::List => TagMode::List,
                Mode::Create => TagMode::Create,
                Mode::Delete => TagMode::Delete,
                Mode::Verify => TagMode::Verify,
            },
            name: input.tag_name,
            commit: input.commit,
            message: input.message,
            annotated: input.annotated,
            sign: input.sign,
            force: input.force,
            confirm: input.confirm,
            pattern: input.pattern,
            sort: match input.sort {
                Sort::Name => TagSort::Name,
                Sort::Version => TagSort::Version,
                Sort::Newest => TagSort::Newest,
            },
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize,
            cursor: input.cursor,
        };
        let repositories = &context.services.repositories;
        let answer = repositories
            .tag(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(TagsView::new(answer, name))
    }
}
