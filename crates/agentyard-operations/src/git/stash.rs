//! `git_stash`: putting changes aside.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{In, Result, Stash, StashRequest, Stashes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflicts::ConflictsView;
use super::kept;
use super::left_out::LeftOutView;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitStash;

/// Put uncommitted changes aside, and take them back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitStashInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// `push` by default. `pop` takes a stash back and drops it.
    #[serde(default)]
    mode: Mode,
    /// For `push`: what it is.
    message: Option<String>,
    /// Which stash: `0` (default), or `stash@{0}`.
    stash: Option<String>,
    /// For `push`: new files too.
    #[serde(default)]
    include_untracked: bool,
    /// For `push`: leave staged changes in place.
    #[serde(default)]
    keep_index: bool,
    /// For `push`: only these files.
    #[serde(default)]
    paths: Vec<String>,
    /// For `list`: how many at most; 50 by default.
    limit: Option<u32>,
    /// Needed for `drop` and `clear`; what they drop is kept.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    List,
    Show,
    #[default]
    Push,
    Pop,
    Apply,
    Drop,
    Clear,
}

/// How many stashes a list has when nobody says, and at most.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 1000;

impl From<GitStashInput> for StashRequest {
    fn from(input: GitStashInput) -> Self {
        let GitStashInput {
            message,
            stash,
            include_untracked,
            keep_index,
            paths,
            limit,
            confirm,
            ..
        } = input;
        match input.mode {
            Mode::List => Self::List {
                limit: limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize,
            },
            Mode::Show => Self::Show { stash },
            Mode::Push => Self::Push {
                message,
                include_untracked,
                keep_index,
                paths,
            },
            Mode::Pop => Self::Apply { stash, drop: true },
            Mode::Apply => Self::Apply { stash, drop: false },
            Mode::Drop => Self::Drop { stash, confirm },
            Mode::Clear => Self::Clear { confirm },
        }
    }
}

impl Operation for GitStash {
    const NAME: &'static str = "git_stash";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const READING_MODES: &'static [&'static str] = &["list", "show"];
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::post("/v1/git/stash");
    type Input = GitStashInput;
    type Output = StashesView;

    async fn call(context: Context<'_>, mut input: GitStashInput) -> Result<StashesView> {
        let path = input.path.take();
        let done = context
            .services
            .repositories
            .stash(context.caller, path.as_deref(), input.into(), context.progress)
            .await?;
        Ok(done.into())
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct StashesView {
    /// The repository's directory.
    repository: String,
    /// Newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    stashes: Option<Vec<StashView>>,
    /// The stash that was made, shown or taken back; left out when there was nothing to put aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    stash: Option<StashView>,
    /// Whether there was anything to put aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    stashed: Option<bool>,
    /// Files that it changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    files: Vec<String>,
    /// Files that it has and that git did not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    untracked: Vec<String>,
    /// What conflicts with what is checked out. The stash stays until it is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflicts: Option<ConflictsView>,
    /// The calls that come next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    next: Vec<String>,
    /// Whether the stash is gone from the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<bool>,
    /// References that hold what was dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    kept: Vec<String>,
    /// Whether there is more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(flatten)]
    left_out: LeftOutView,
}

#[derive(Serialize, JsonSchema)]
struct StashView {
    stash: String,
    commit: String,
    /// The branch that it was made on.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    description: String,
    at: String,
}

impl Output for StashesView {
    fn item_count(&self) -> usize {
        self.stashes.as_ref().map_or(0, Vec::len)
            + self.files.len()
            + self.untracked.len()
            + self.conflicts.as_ref().map_or(0, ConflictsView::len)
    }

    fn keep(&mut self, mut count: usize) {
        if let Some(stashes) = &mut self.stashes {
            stashes.truncate(count);
        }
        if let Some(conflicts) = &mut self.conflicts {
            conflicts.keep(count);
        }
        for list in [&mut self.files, &mut self.untracked] {
            list.truncate(count);
            count -= list.len();
        }
        self.truncated = true;
    }
}

impl From<Stash> for StashView {
    fn from(stash: Stash) -> Self {
        Self {
            stash: stash.selector,
            commit: stash.id.to_string(),
            branch: stash.branch,
            description: stash.description,
            at: stash.at.to_string(),
        }
    }
}

impl From<In<Stashes>> for StashesView {
    fn from(done: In<Stashes>) -> Self {
        let mut view = Self {
            repository: done.repository.display().to_string(),
            ..Self::default()
        };
        match done.result {
            Stashes::Listed(list) => {
                view.stashes = Some(list.stashes.into_iter().map(Into::into).collect());
                view.truncated = list.more;
            }
            Stashes::Shown(content) => {
                view.stash = Some(content.stash.into());
                view.truncated = content.changed.count > content.changed.files.len()
                    || content.untracked.count > content.untracked.files.len();
                view.files = content.changed.files;
                view.untracked = content.untracked.files;
            }
            Stashes::Pushed(stash) => {
                view.stashed = Some(stash.is_some());
                view.stash = stash.map(Into::into);
            }
            Stashes::Applied(applied) => {
                view.stash = Some(applied.stash.into());
                view.conflicts = ConflictsView::of(applied.conflicts);
                if let Some(conflicts) = &view.conflicts {
                    view.next = vec![
                        conflicts.staging_call(),
                        r#"git_stash {"mode":"drop","confirm":true}"#.to_owned(),
                    ];
                }
                view.dropped = Some(applied.dropped);
                view.left_out = applied.left_out.into();
            }
            Stashes::Dropped(dropped) => {
                view.kept = kept::references(dropped);
                view.dropped = Some(true);
            }
        }
        view
    }
}
