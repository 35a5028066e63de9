//! `workspace_conflicts`: who would conflict with whom.

use agentyard_model::{Permission, RepoName, Toolset, WorkspaceId};
use agentyard_services::{
    CollidingFile, CollisionKind, ConflictsRequest, ForeseenConflict, Opponent, Result,
    WorkspaceConflicts as Found, WorkspaceReference,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceConflicts;

/// Foresee which open workspaces would conflict when merged: with each other, and with their targets. Nothing is
/// merged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceConflictsInput {
    /// Only workspaces of this repository.
    repo: Option<RepoName>,
    /// Only conflicts of this workspace: its id, or `repository/branch`.
    workspace: Option<String>,
    /// Count work that is not committed; true by default.
    include_uncommitted: Option<bool>,
}

/// Conflicts to come.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConflictsView {
    #[schemars(length(max = 500))]
    conflicts: Vec<ConflictView>,
    /// How many merges were foreseen.
    compared: usize,
    /// How many could not be, because too many files differ.
    #[serde(skip_serializing_if = "is_zero")]
    not_compared: usize,
    /// Workspaces whose uncommitted work could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    incomplete: Vec<WorkspaceId>,
    /// How many more conflicts there are; ask for one `workspace`.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
}

/// Two branches that would conflict.
#[derive(Serialize, JsonSchema)]
struct ConflictView {
    repo: RepoName,
    workspace: WorkspaceId,
    branch: String,
    /// The other workspace; absent where it is the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    with_workspace: Option<WorkspaceId>,
    /// The other branch.
    with_branch: String,
    #[schemars(length(max = 20))]
    files: Vec<FileView>,
    #[serde(skip_serializing_if = "is_zero")]
    files_left_out: usize,
}

#[derive(Serialize, JsonSchema)]
struct FileView {
    path: String,
    /// Why: `content`, `both_added`, `deleted_and_changed`, `renamed`, `directory_renamed`, `directory_and_file`,
    /// `binary`, `mode` or `submodule`.
    kind: &'static str,
}

/// More than anybody reads; of so many, one asks by workspace.
const MAX_CONFLICTS: usize = 500;

/// How many files of a conflict are listed. Who has to resolve more looks at the merge itself.
const MAX_FILES: usize = 20;

impl Output for ConflictsView {
    fn item_count(&self) -> usize {
        self.conflicts.len()
    }

    fn keep(&mut self, count: usize) {
        self.left_out += self.conflicts.len().saturating_sub(count);
        self.conflicts.truncate(count);
    }
}

impl Operation for WorkspaceConflicts {
    const NAME: &'static str = "workspace_conflicts";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/workspaces/conflicts");
    type Input = WorkspaceConflictsInput;
    type Output = ConflictsView;

    async fn call(context: Context<'_>, input: WorkspaceConflictsInput) -> Result<ConflictsView> {
        let workspace = input.workspace.as_deref().map(WorkspaceReference::parse);
        let request = ConflictsRequest {
            repo: input.repo,
            workspace: workspace.transpose()?,
            committed_only: input.include_uncommitted == Some(false),
        };
        let found = context
            .services
            .workspaces
            .conflicts(context.caller, &request)
            .await?;
        Ok(found.into())
    }
}

impl From<Found> for ConflictsView {
    fn from(found: Found) -> Self {
        let left_out = found.conflicts.len().saturating_sub(MAX_CONFLICTS);
        Self {
            conflicts: found
                .conflicts
                .into_iter()
                .take(MAX_CONFLICTS)
                .map(Into::into)
                .collect(),
            compared: found.compared,
            not_compared: found.uncompared,
            incomplete: found.incomplete.into_iter().take(MAX_CONFLICTS).collect(),
            left_out,
        }
    }
}

impl From<ForeseenConflict> for ConflictView {
    fn from(conflict: ForeseenConflict) -> Self {
        let (with_workspace, with_branch) = match conflict.with {
            Opponent::Workspace { id, branch } => (Some(id), branch),
            Opponent::Target { branch } => (None, branch),
        };
        let files: Vec<FileView> = conflict.files.iter().take(MAX_FILES).map(Into::into).collect();
        Self {
            repo: conflict.repo,
            workspace: conflict.workspace,
            branch: conflict.branch,
            with_workspace,
            with_branch,
            files_left_out: conflict.file_count.saturating_sub(files.len()),
            files,
        }
    }
}

impl From<&CollidingFile> for FileView {
    fn from(file: &CollidingFile) -> Self {
        Self {
            path: file.path.clone(),
            kind: match file.kind {
                CollisionKind::Content => "content",
                CollisionKind::BothAdded => "both_added",
                CollisionKind::DeletedAndChanged => "deleted_and_changed",
                CollisionKind::Renamed => "renamed",
                CollisionKind::DirectoryRenamed => "directory_renamed",
                CollisionKind::DirectoryAndFile => "directory_and_file",
                CollisionKind::Binary => "binary",
                CollisionKind::Mode => "mode",
                CollisionKind::Submodule => "submodule",
            },
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
