//! `ls`: what is in a directory.

use agentyard_model::{Cursor, Permission, Timestamp, Toolset};
use agentyard_services::{ListRequest, ListedEntry, ListedKind, Listing, Result, list_cursor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct Ls;

/// List a directory of the workspace: types, sizes, link targets, what git ignores. Git's own directory is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LsInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// Directory or file in it. Default the top.
    path: Option<String>,
    /// Levels of directories. Default 1.
    #[schemars(range(min = 1))]
    depth: Option<usize>,
    /// Leave out ignored files instead of marking them.
    #[serde(default)]
    hide_ignored: bool,
    /// Entries in a page. Default 500.
    #[schemars(range(min = 1, max = 5000))]
    limit: Option<usize>,
    /// Cursor of the page before.
    cursor: Option<Cursor>,
}

impl Operation for Ls {
    const NAME: &'static str = "ls";
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/build/ls");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/ls"),
        Route::get("/v1/workspaces/{workspace}/ls"),
    ];
    type Input = LsInput;
    type Output = LsView;

    async fn call(context: Context<'_>, input: LsInput) -> Result<LsView> {
        let request = ListRequest {
            path: input.path,
            depth: input.depth.unwrap_or(1),
            hide_ignored: input.hide_ignored,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT),
            cursor: input.cursor,
        };
        let place = place(input.workspace, input.repo, input.branch);
        let listing = context
            .services
            .files
            .list(context.caller, &place, request)
            .await?;
        Ok(LsView::from(listing))
    }
}

const DEFAULT_LIMIT: usize = 500;

/// What is in a directory.
#[derive(Serialize, JsonSchema)]
pub(super) struct LsView {
    /// Sorted by path, a directory before what is in it.
    entries: Vec<EntryView>,
    /// A directory has more entries than are looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    crowded: bool,
    /// There are more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where they begin; when there are more and this is missing, list a directory below.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
}

/// A file, directory or link.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct EntryView {
    /// From the top of the tree.
    path: String,
    /// `dir`, `link`, `pipe`, `socket` or `device`; files have none.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    executable: bool,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Git ignores it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ignored: bool,
    /// When it was last written.
    modified_at: Timestamp,
}

impl Output for LsView {
    const LEVELS: &'static [LevelledField] = &[
        ("entries.size_bytes", Level::Standard),
        ("entries.modified_at", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.entries.len()
    }

    fn keep(&mut self, count: usize) {
        self.entries.truncate(count);
        self.truncated = true;
        self.next_cursor = self.entries.last().and_then(|entry| list_cursor(&entry.path));
    }
}

impl From<Listing> for LsView {
    fn from(listing: Listing) -> Self {
        let last = listing.entries.last().filter(|_| listing.more);
        Self {
            next_cursor: last.and_then(|entry| list_cursor(&entry.path)),
            truncated: listing.more,
            crowded: listing.crowded,
            entries: listing.entries.into_iter().map(EntryView::from).collect(),
        }
    }
}

impl From<ListedEntry> for EntryView {
    fn from(entry: ListedEntry) -> Self {
        let (kind, executable, target) = match entry.kind {
            ListedKind::File { executable } => (None, executable, None),
            ListedKind::Directory => (Some("dir"), false, None),
            ListedKind::Link { target } => (Some("link"), false, Some(target)),
            ListedKind::Other(kind) => (Some(kind), false, None),
        };
        Self {
            path: entry.path,
            kind,
            size_bytes: entry.size,
            executable,
            target,
            ignored: entry.ignored,
            modified_at: Timestamp::from_microseconds(entry.modified_at.saturating_mul(1_000_000)),
        }
    }
}
