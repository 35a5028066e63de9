//! `git_merge`: joining branches.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    FastForward, Favor, In, LeftOut, MergeAnswer, MergeMode, MergePreview, MergeRequest, MergeResult,
    MergeStrategy, Merged, OperationInProgress, Result,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aftermath::{Aftermath, NamedFiles};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitMerge;

/// Merge branches into the current one. Conflicts come back as data with the next calls.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitMergeInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// `continue` once conflicts are resolved and staged.
    #[serde(default)]
    mode: ModeInput,
    /// Branch, tag or commit to merge.
    branch: Option<String>,
    /// Several at once (octopus).
    #[serde(default)]
    branches: Vec<String>,
    /// Merge strategy.
    strategy: Option<StrategyInput>,
    /// Side that wins where both changed the same lines.
    favor: Option<FavorInput>,
    /// Make a merge commit in any case.
    #[serde(default)]
    no_fast_forward: bool,
    /// Refuse where that needs a merge commit.
    #[serde(default)]
    fast_forward_only: bool,
    /// Stage the changes without a merge commit.
    #[serde(default)]
    squash: bool,
    /// Message of the merge commit.
    message: Option<String>,
    /// Sign the commit.
    sign: Option<bool>,
    /// Merge histories without a common ancestor.
    #[serde(default)]
    allow_unrelated_histories: bool,
    /// Only find out whether it would conflict; touches nothing.
    #[serde(default)]
    dry_run: bool,
    /// Same as mode `abort`.
    #[serde(default)]
    abort: bool,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ModeInput {
    #[default]
    Start,
    Continue,
    Abort,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum StrategyInput {
    Ort,
    Recursive,
    Octopus,
    Ours,
    Subtree,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FavorInput {
    Ours,
    Theirs,
}

impl Operation for GitMerge {
    const NAME: &'static str = "git_merge";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/git/merge");
    type Input = GitMergeInput;
    type Output = MergeView;

    async fn call(context: Context<'_>, mut input: GitMergeInput) -> Result<MergeView> {
        let path = input.path.take();
        let merged = context
            .services
            .repositories
            .merge(context.caller, path.as_deref(), input.into(), context.progress)
            .await?;
        Ok(merged.into())
    }
}

impl From<GitMergeInput> for MergeRequest {
    fn from(input: GitMergeInput) -> Self {
        Self {
            mode: match input.mode {
                _ if input.abort => MergeMode::Abort,
                ModeInput::Start if input.dry_run => MergeMode::Preview,
                ModeInput::Start => MergeMode::Start,
                ModeInput::Continue => MergeMode::Continue,
                ModeInput::Abort => MergeMode::Abort,
            },
            heads: input.branch.into_iter().chain(input.branches).collect(),
            strategy: input.strategy.map(Into::into),
            favor: input.favor.map(|favor| match favor {
                FavorInput::Ours => Favor::Ours,
                FavorInput::Theirs => Favor::Theirs,
            }),
            fast_forward: match (input.fast_forward_only, input.no_fast_forward) {
                (true, _) => FastForward::Only,
                (false, true) => FastForward::Never,
                (false, false) => FastForward::Allowed,
            },
            squash: input.squash,
            message: input.message,
            sign: input.sign,
            allow_unrelated_histories: input.allow_unrelated_histories,
        }
    }
}

impl From<StrategyInput> for MergeStrategy {
    fn from(strategy: StrategyInput) -> Self {
        match strategy {
            StrategyInput::Ort => Self::Ort,
            StrategyInput::Recursive => Self::Recursive,
            StrategyInput::Octopus => Self::Octopus,
            StrategyInput::Ours => Self::Ours,
            StrategyInput::Subtree => Self::Subtree,
        }
    }
}

/// What came of a merge.
#[derive(Serialize, JsonSchema)]
pub(super) struct MergeView {
    repository: String,
    /// `up_to_date`, `fast_forward`, `merged`, `squashed`, `conflicts`, `aborted`, `would_merge`, `would_conflict`.
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(flatten)]
    files: NamedFiles,
    #[serde(flatten)]
    aftermath: Aftermath,
}

impl Output for MergeView {
    fn item_count(&self) -> usize {
        self.aftermath.item_count()
    }

    fn keep(&mut self, count: usize) {
        self.aftermath.keep(count);
    }
}

impl From<In<MergeAnswer>> for MergeView {
    fn from(answer: In<MergeAnswer>) -> Self {
        let repository = answer.repository.display().to_string();
        match answer.result {
            MergeAnswer::Merged(merged) => Self::of(repository, merged),
            MergeAnswer::Preview(preview) => Self::preview(repository, preview),
        }
    }
}

impl MergeView {
    fn of(repository: String, merged: Merged) -> Self {
        let mut aftermath = Aftermath::new(merged.kept, merged.left_out);
        let result = match merged.result {
            MergeResult::UpToDate => "up_to_date",
            MergeResult::FastForward => "fast_forward",
            MergeResult::Committed => "merged",
            MergeResult::Aborted => "aborted",
            MergeResult::Squashed => {
                aftermath.next(r#"git_commit {"message":"…"}"#);
                "squashed"
            }
            MergeResult::Stopped(conflicts) => {
                aftermath.stopped(Some(OperationInProgress::Merge), conflicts);
                "conflicts"
            }
            MergeResult::SquashStopped(conflicts) => {
                aftermath.stopped(None, conflicts);
                "conflicts"
            }
        };
        Self {
            repository,
            result,
            head: merged.head.map(|head| head.to_string()),
            files: merged.changed.into(),
            aftermath,
        }
    }

    fn preview(repository: String, preview: MergePreview) -> Self {
        let result = if preview.conflicted.is_empty() {
            "would_merge"
        } else {
            "would_conflict"
        };
        Self {
            repository,
            result,
            head: None,
            files: NamedFiles::first_of(preview.conflicted),
            aftermath: Aftermath::new(None, LeftOut::default()),
        }
    }
}
