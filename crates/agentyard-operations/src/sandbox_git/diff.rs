//! `sandbox_diff`: what changed in a sandbox's working tree.

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Result, SandboxDiff as Diff, SandboxDiffFile, SandboxDiffRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxDiff;

/// Changes in the repository of a sandbox, against the last commit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxDiffInput {
    /// Its id.
    sandbox: SandboxId,
    /// What is staged only.
    #[serde(default)]
    staged: bool,
    /// All since the branch left its base.
    #[serde(default)]
    against_base: bool,
    /// Only these.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    files: Vec<String>,
}

/// What changed.
#[derive(Serialize, JsonSchema)]
pub(super) struct DiffView {
    additions: u64,
    deletions: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    files: Vec<FileView>,
    /// Unified diff.
    #[serde(skip_serializing_if = "String::is_empty")]
    patch: String,
    /// There is more: name `files`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A file that changed.
#[derive(Serialize, JsonSchema)]
struct FileView {
    path: String,
    /// None of a binary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    additions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletions: Option<u64>,
}

impl Output for DiffView {
    fn item_count(&self) -> usize {
        self.patch.lines().count()
    }

    fn keep(&mut self, count: usize) {
        let kept = self.patch.split_inclusive('\n').take(count);
        self.patch = kept.collect();
        self.truncated = true;
    }
}

impl Operation for SandboxDiff {
    const NAME: &'static str = "sandbox_diff";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/sandboxes/{sandbox}/git/diff");
    const ALIASES: &'static [(&'static str, &'static str)] = &[("sandbox_id", "sandbox")];
    type Input = SandboxDiffInput;
    type Output = DiffView;

    async fn call(context: Context<'_>, input: SandboxDiffInput) -> Result<DiffView> {
        let request = SandboxDiffRequest {
            staged: input.staged,
            against_base: input.against_base,
            files: input.files,
        };
        let git = &context.services.sandbox_git;
        let diff = git.diff(context.caller, input.sandbox, request).await?;
        Ok(diff.into())
    }
}

impl From<Diff> for DiffView {
    fn from(diff: Diff) -> Self {
        Self {
            additions: diff.additions,
            deletions: diff.deletions,
            files: diff.files.into_iter().map(Into::into).collect(),
            patch: diff.patch,
            truncated: diff.is_cut,
        }
    }
}

impl From<SandboxDiffFile> for FileView {
    fn from(file: SandboxDiffFile) -> Self {
        Self {
            path: file.path,
            additions: file.additions,
            deletions: file.deletions,
        }
    }
}
