//! `git_cherry_pick`: commits of elsewhere, made again here.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    CherryPickRequest, CherryPickResult, CherryPicked, In, OperationInProgress, Result, SequenceMode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aftermath::Aftermath;
use super::merge::StrategyInput;
use super::rebase::SequenceModeInput;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitCherryPick;

/// How many commits are listed: as many as one call picks.
const MAX_LISTED: usize = 1000;

/// Apply commits of other branches here. The other modes also finish a revert in progress. Conflicts come back as
/// data with the next calls.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitCherryPickInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// `continue` once conflicts are resolved and staged.
    #[serde(default)]
    mode: SequenceModeInput,
    /// Commits and ranges (`a..b`), applied in this order.
    #[serde(default)]
    commits: Vec<String>,
    /// Only stage the changes.
    #[serde(default)]
    no_commit: bool,
    /// For merge commits: number of the parent to compare with, from 1.
    mainline: Option<u32>,
    /// Merge strategy.
    strategy: Option<StrategyInput>,
    /// Add `Signed-off-by`.
    #[serde(default)]
    signoff: bool,
    /// Add `(cherry picked from commit …)`.
    #[serde(default)]
    record_origin: bool,
    /// Keep commits that change nothing here; they are left out otherwise.
    #[serde(default)]
    keep_empty: bool,
    /// Sign the commits.
    sign: Option<bool>,
    /// Same as mode `abort`.
    #[serde(default)]
    abort: bool,
    /// Same as mode `continue`.
    #[serde(default)]
    continue_operation: bool,
}

impl Operation for GitCherryPick {
    const NAME: &'static str = "git_cherry_pick";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/cherry-pick");
    type Input = GitCherryPickInput;
    type Output = CherryPickView;

    async fn call(context: Context<'_>, mut input: GitCherryPickInput) -> Result<CherryPickView> {
        let path = input.path.take();
        let picked = context
            .services
            .repositories
            .cherry_pick(context.caller, path.as_deref(), input.into(), context.progress)
            .await?;
        Ok(picked.into())
    }
}

impl From<GitCherryPickInput> for CherryPickRequest {
    fn from(input: GitCherryPickInput) -> Self {
        Self {
            mode: match (input.abort, input.continue_operation) {
                (true, _) => SequenceMode::Abort,
                (false, true) => SequenceMode::Continue,
                (false, false) => input.mode.into(),
            },
            commits: input.commits,
            no_commit: input.no_commit,
            mainline: input.mainline,
            strategy: input.strategy.map(Into::into),
            signoff: input.signoff,
            record_origin: input.record_origin,
            keep_empty: input.keep_empty,
            sign: input.sign,
        }
    }
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct CherryPickView {
    repository: String,
    /// `done`, `stopped`, `aborted`.
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// New commits, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    picked: Vec<String>,
    /// Commits left out because they change nothing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    empty: Vec<String>,
    /// The commit at which it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Why it stopped without conflicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    aftermath: Aftermath,
}

impl Output for CherryPickView {
    fn item_count(&self) -> usize {
        self.aftermath.item_count()
    }

    fn keep(&mut self, count: usize) {
        self.aftermath.keep(count);
    }
}

impl From<In<CherryPicked>> for CherryPickView {
    fn from(picked: In<CherryPicked>) -> Self {
        let texts = |ids: Vec<_>| ids.iter().take(MAX_LISTED).map(ToString::to_string).collect();
        let CherryPicked {
            result,
            picked: commits,
            empty,
            head,
            kept,
            left_out,
        } = picked.result;
        let mut view = Self {
            repository: picked.repository.display().to_string(),
            result: "done",
            head: head.map(|head| head.to_string()),
            picked: texts(commits),
            empty: texts(empty),
            commit: None,
            reason: None,
            aftermath: Aftermath::new(kept, left_out),
        };
        match result {
            CherryPickResult::Done => {}
            CherryPickResult::Aborted => view.result = "aborted",
            CherryPickResult::Stopped {
                commit,
                in_progress,
                conflicts,
                said,
            } => {
                view.result = "stopped";
                view.commit = commit.map(|commit| commit.to_string());
                view.reason = (!said.is_empty()).then_some(said);
                let operation = in_progress.then_some(OperationInProgress::CherryPick);
                view.aftermath.stopped(operation, conflicts);
            }
        }
        view
    }
}
