//! `git_wrapup_instructions`: what is left to do before a piece of work is done.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Bump, Document, In, Result, Wrapup, WrapupStep};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitWrapupInstructions;

/// Get what is left to do before a piece of work is done: its state, and the next calls in order.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitWrapupInstructionsInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Not needed; accepted for clients that send it.
    #[serde(rename = "acknowledgement")]
    _acknowledgement: Option<String>,
    /// Also release: version and tag.
    #[serde(default)]
    create_tag: bool,
}

impl Operation for GitWrapupInstructions {
    const NAME: &'static str = "git_wrapup_instructions";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/wrapup");
    type Input = GitWrapupInstructionsInput;
    type Output = WrapupView;

    async fn call(context: Context<'_>, input: GitWrapupInstructionsInput) -> Result<WrapupView> {
        let wrapup = context
            .services
            .repositories
            .wrap_up(context.caller, input.path.as_deref(), input.create_tag)
            .await?;
        Ok(wrapup.into())
    }
}

/// The state of a piece of work, and what to do.
#[derive(Serialize, JsonSchema)]
pub(super) struct WrapupView {
    /// The repository's directory.
    repository: String,
    /// What whoever runs the server wants to be heeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// What to do, in order; a call is to be filled in and adapted.
    #[schemars(length(max = 20))]
    steps: Vec<StepView>,
    /// Where the work is counted from: the upstream or the last tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The commits since then, newest first.
    #[schemars(length(max = 50))]
    commits: Vec<String>,
    /// Whether there are more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_commits: bool,
    /// Directories, and how many changed files each has.
    #[schemars(length(max = 10))]
    areas: Vec<String>,
    /// Documents that may have to change too.
    #[schemars(length(max = 20))]
    documents: Vec<DocumentView>,
    /// The newest tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_tag: Option<String>,
    /// How much the version has to grow: `patch`, `minor` or `major`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bump: Option<&'static str>,
    /// The next version.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_version: Option<String>,
    /// The branch; left out when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The branch that this one follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// Commits that the upstream lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<usize>,
    /// Commits that only the upstream has.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<usize>,
    /// How many files are not committed.
    uncommitted_files: usize,
    /// The first of them; `git_status` tells more.
    #[schemars(length(max = 100))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncommitted: Vec<String>,
}

/// Something to do.
#[derive(Serialize, JsonSchema)]
struct StepView {
    text: String,
    /// The call that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
}

/// A document.
#[derive(Serialize, JsonSchema)]
struct DocumentView {
    path: String,
    role: &'static str,
    /// Whether this work changed it.
    touched: bool,
}

impl Output for WrapupView {
    const LEVELS: &'static [LevelledField] = &[
        ("commits", Level::Standard),
        ("areas", Level::Standard),
        ("uncommitted", Level::Standard),
    ];
}

/// How many uncommitted files are named.
const MAX_FILES: usize = 100;

/// How many areas are named.
const MAX_AREAS: usize = 10;

impl From<In<Wrapup>> for WrapupView {
    fn from(found: In<Wrapup>) -> Self {
        let wrapup = found.result;
        let upstream = wrapup.status.upstream.as_ref();
        let distance = upstream.and_then(|upstream| upstream.distance);
        let areas = wrapup.areas.into_iter().take(MAX_AREAS);
        Self {
            repository: found.repository.display().to_string(),
            branch: wrapup.status.head.branch,
            upstream: wrapup.status.upstream.map(|upstream| upstream.name),
            ahead: distance.map(|distance| distance.ahead),
            behind: distance.map(|distance| distance.behind),
            uncommitted_files: wrapup.uncommitted.len(),
            uncommitted: wrapup.uncommitted.into_iter().take(MAX_FILES).collect(),
            instructions: wrapup.instructions,
            steps: wrapup.steps.into_iter().map(StepView::from).collect(),
            since: wrapup.since,
            commits: wrapup
                .commits
                .into_iter()
                .map(|commit| format!("{} {}", commit.short_id, commit.subject))
                .collect(),
            more_commits: wrapup.more,
            areas: areas.map(|(area, count)| format!("{area} ({count})")).collect(),
            documents: wrapup.documents.into_iter().map(DocumentView::from).collect(),
            last_tag: wrapup.last_tag,
            bump: wrapup.bump.map(|bump| match bump {
                Bump::Patch => "patch",
                Bump::Minor => "minor",
                Bump::Major => "major",
            }),
            next_version: wrapup.next_version,
        }
    }
}

impl From<WrapupStep> for StepView {
    fn from(step: WrapupStep) -> Self {
        Self {
            text: step.text,
            call: step.call,
        }
    }
}

impl From<Document> for DocumentView {
    fn from(document: Document) -> Self {
        Self {
            path: document.path,
            role: document.role,
            touched: document.touched,
        }
    }
}
