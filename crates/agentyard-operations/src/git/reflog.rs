//! `git_reflog`: where references pointed before.

use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{In, Reflog, ReflogEntry, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::short_id::short_id;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

/// How many entries a page has when nobody says.
const DEFAULT_COUNT: u32 = 25;

/// The most entries in a page.
const MAX_COUNT: u32 = 1000;

pub(super) struct GitReflog;

/// List where HEAD or a branch pointed before, newest first: the way back to lost commits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitReflogInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// HEAD (default), a branch, `origin/main`, or `stash`.
    #[serde(rename = "ref")]
    reference: Option<String>,
    /// 25 by default.
    max_count: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

impl Operation for GitReflog {
    const NAME: &'static str = "git_reflog";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/reflog");
    type Input = GitReflogInput;
    type Output = ReflogView;

    async fn call(context: Context<'_>, input: GitReflogInput) -> Result<ReflogView> {
        let count = input.max_count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
        let repositories = &context.services.repositories;
        let path = input.path.as_deref();
        let log = repositories
            .reflog(
                context.caller,
                path,
                input.reference,
                count as usize,
                input.cursor,
            )
            .await?;
        Ok(log.into())
    }
}

/// Where a reference pointed before.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReflogView {
    /// The repository's directory.
    repository: String,
    /// The reference.
    #[serde(rename = "ref")]
    reference: String,
    /// Its steps, newest first.
    entries: Vec<EntryView>,
    /// The reference exists, but no log of it is kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_log: bool,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip)]
    offset: usize,
}

/// A step.
#[derive(Serialize, JsonSchema)]
struct EntryView {
    /// Names the commit in other calls.
    selector: String,
    /// The commit it then pointed to.
    commit: String,
    /// What was done.
    #[serde(skip_serializing_if = "String::is_empty")]
    action: String,
    /// With what.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// When.
    at: String,
    /// Where it pointed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// By whom.
    who: String,
}

impl Output for ReflogView {
    const LEVELS: &'static [LevelledField] = &[
        ("entries.at", Level::Standard),
        ("entries.previous", Level::Full),
        ("entries.who", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.entries.len()
    }

    fn keep(&mut self, count: usize) {
        self.entries.truncate(count);
        self.truncated = true;
        self.next_cursor = Some(Cursor::at(self.offset + count));
    }
}

impl From<In<Reflog>> for ReflogView {
    fn from(log: In<Reflog>) -> Self {
        let (page, offset) = (log.result.page, log.result.offset);
        Self {
            repository: log.repository.display().to_string(),
            reference: page.reference,
            no_log: page.missing,
            truncated: false,
            next_cursor: page.more.then(|| Cursor::at(offset + page.entries.len())),
            offset,
            entries: page.entries.into_iter().map(EntryView::from).collect(),
        }
    }
}

impl From<ReflogEntry> for EntryView {
    fn from(entry: ReflogEntry) -> Self {
        Self {
            selector: entry.selector,
            commit: short_id(entry.id),
            action: entry.action,
            message: entry.message,
            at: entry.who.at.to_string(),
            previous: entry.previous.map(short_id),
            who: format!("{} <{}>", entry.who.name, entry.who.email),
        }
    }
}
