//! `git_diff`: what differs.

use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{DiffPage, DiffRequest, In, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::patch::{Patch, Shown};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};

pub(super) struct GitDiff;

/// Compare commits, index and working tree: totals and files first, then a unified diff. Without a commit:
/// what is not staged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitDiffInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Commit to compare with the working tree, or a range `a..b`, `a...b`.
    target: Option<String>,
    /// Commit to compare `target` with.
    source: Option<String>,
    /// Only these files and directories.
    #[serde(default)]
    paths: Vec<String>,
    /// What is staged.
    #[serde(default)]
    staged: bool,
    /// Untracked files too.
    #[serde(default)]
    include_untracked: bool,
    /// Paths alone.
    #[serde(default)]
    name_only: bool,
    /// Files and counts alone.
    #[serde(default)]
    stat: bool,
    /// 3 by default.
    #[schemars(range(max = 10000))]
    context_lines: Option<u32>,
    /// Mark words: `[-old-]{+new+}`.
    #[serde(default)]
    word_diff: bool,
    /// Ignore white space.
    #[serde(default)]
    ignore_whitespace: bool,
    /// Find renames; true by default.
    renames: Option<bool>,
    /// Find copies.
    #[serde(default)]
    find_copies: bool,
    /// Leave out text of generated and lock files; true by default.
    auto_exclude: Option<bool>,
    /// Cursor of the page before.
    cursor: Option<Cursor>,
}

impl Operation for GitDiff {
    const NAME: &'static str = "git_diff";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/diff");
    type Input = GitDiffInput;
    type Output = DiffView;

    async fn call(context: Context<'_>, input: GitDiffInput) -> Result<DiffView> {
        let shown = Shown::of(input.name_only, input.stat);
        let request = DiffRequest {
            target: input.target,
            source: input.source,
            staged: input.staged,
            paths: input.paths,
            untracked: input.include_untracked,
            text: shown == Shown::Text,
            context_lines: input.context_lines,
            words: input.word_diff,
            ignore_whitespace: input.ignore_whitespace,
            no_renames: input.renames == Some(false),
            copies: input.find_copies,
            generated: input.auto_exclude == Some(false),
            cursor: input.cursor,
        };
        let repositories = &context.services.repositories;
        let page = repositories
            .diff(context.caller, input.path.as_deref(), request)
            .await?;
        Ok(DiffView::new(page, shown))
    }
}

/// Differences, as text.
#[derive(Serialize, JsonSchema)]
pub(super) struct DiffView {
    /// The repository's directory.
    repository: String,
    #[serde(skip)]
    patch: Patch,
}

impl Output for DiffView {
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        Ok(self.patch.into_reply(presentation))
    }
}

impl DiffView {
    fn new(page: In<DiffPage>, shown: Shown) -> Self {
        let repository = page.repository.display().to_string();
        Self {
            patch: Patch {
                head: format!("{repository}: "),
                page: page.result,
                shown,
            },
            repository,
        }
    }
}
