//! `git_rebase`: putting commits on another base, in another order, or together.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    In, OperationInProgress, RebaseProgress, RebaseRequest, RebaseResult, Rebased, Result, SequenceMode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aftermath::Aftermath;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitRebase;

/// Rebase the current branch, or rewrite its commits by a `plan`. The old tip is kept. Conflicts come back as data
/// with the next calls.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitRebaseInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// `continue` once conflicts are resolved and staged.
    #[serde(default)]
    mode: SequenceModeInput,
    /// Rebases the commits after this revision; default: the branch's upstream.
    upstream: Option<String>,
    /// New base, when it is not `upstream`.
    onto: Option<String>,
    /// Branch to check out first.
    branch: Option<String>,
    /// All commits in the wanted order, oldest first: `pick <commit>`, `squash`, `fixup`, `edit`, `drop`,
    /// `reword <commit> <message>`.
    #[serde(default)]
    plan: Vec<String>,
    /// Keep merges instead of flattening them.
    #[serde(default, alias = "preserve")]
    rebase_merges: bool,
    /// Move `fixup!` commits where they belong.
    #[serde(default)]
    autosquash: bool,
    /// Sign the commits.
    sign: Option<bool>,
}

/// What to do about an operation that goes from commit to commit.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum SequenceModeInput {
    #[default]
    Start,
    Continue,
    Skip,
    Abort,
}

impl From<SequenceModeInput> for SequenceMode {
    fn from(mode: SequenceModeInput) -> Self {
        match mode {
            SequenceModeInput::Start => Self::Start,
            SequenceModeInput::Continue => Self::Continue,
            SequenceModeInput::Skip => Self::Skip,
            SequenceModeInput::Abort => Self::Abort,
        }
    }
}

impl Operation for GitRebase {
    const NAME: &'static str = "git_rebase";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/rebase");
    type Input = GitRebaseInput;
    type Output = RebaseView;

    async fn call(context: Context<'_>, input: GitRebaseInput) -> Result<RebaseView> {
        let request = RebaseRequest {
            mode: input.mode.into(),
            upstream: input.upstream,
            onto: input.onto,
            branch: input.branch,
            plan: input.plan,
            rebase_merges: input.rebase_merges,
            autosquash: input.autosquash,
            sign: input.sign,
        };
        let rebased = context
            .services
            .repositories
            .rebase(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(rebased.into())
    }
}

/// What came of a rebase.
#[derive(Serialize, JsonSchema)]
pub(super) struct RebaseView {
    repository: String,
    /// `up_to_date`, `rebased`, `stopped`, `aborted`.
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// Commits on the new base.
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rebase: Option<RebaseProgressView>,
    /// Why it stopped without conflicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    aftermath: Aftermath,
}

/// How far a rebase in progress is.
#[derive(Serialize, JsonSchema)]
pub(super) struct RebaseProgressView {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    onto: Option<String>,
    step: usize,
    total: usize,
    /// The commit at which it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
}

impl From<&RebaseProgress> for RebaseProgressView {
    fn from(progress: &RebaseProgress) -> Self {
        Self {
            branch: progress.branch.clone(),
            onto: progress.onto.map(|onto| onto.to_string()),
            step: progress.step,
            total: progress.total,
            commit: progress.commit.map(|commit| commit.to_string()),
        }
    }
}

impl Output for RebaseView {
    fn item_count(&self) -> usize {
        self.aftermath.item_count()
    }

    fn keep(&mut self, count: usize) {
        self.aftermath.keep(count);
    }
}

impl From<In<Rebased>> for RebaseView {
    fn from(rebased: In<Rebased>) -> Self {
        let Rebased {
            result,
            head,
            kept,
            left_out,
        } = rebased.result;
        let mut view = Self {
            repository: rebased.repository.display().to_string(),
            result: "up_to_date",
            head: head.map(|head| head.to_string()),
            commits: None,
            rebase: None,
            reason: None,
            aftermath: Aftermath::new(kept, left_out),
        };
        match result {
            RebaseResult::UpToDate => {}
            RebaseResult::Aborted => view.result = "aborted",
            RebaseResult::Done { commits } => {
                view.result = "rebased";
                view.commits = Some(commits);
            }
            RebaseResult::Stopped(stop) => {
                view.result = "stopped";
                view.rebase = Some((&stop.progress).into());
                view.reason = (!stop.said.is_empty()).then_some(stop.said);
                view.aftermath
                    .stopped(Some(OperationInProgress::Rebase), stop.conflicts);
            }
        }
        view
    }
}
