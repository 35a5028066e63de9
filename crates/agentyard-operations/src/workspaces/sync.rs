//! `workspace_sync`: what is new, under one's own work.

use agentyard_model::{Permission, Toolset, WorkspaceId};
use agentyard_services::{Integration, IntegrationResult, Result, SyncRequest, Synced, WorkspaceReference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WorkspaceSync;

/// Fetch, and bring a workspace up to date. Uncommitted work is carried along. On a conflict nothing changes, and the
/// files are named.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceSyncInput {
    /// Its id, or `repository/branch`.
    workspace: String,
    /// Branch of the remote; default: its own, else its target.
    with: Option<String>,
    /// Default: `rebase`.
    #[serde(default)]
    strategy: Strategy,
}

/// How own commits and new ones are joined.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Strategy {
    #[default]
    Rebase,
    Merge,
    FastForward,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct SyncedView {
    workspace: WorkspaceId,
    branch: String,
    /// The remote's branch.
    with: String,
    /// `up_to_date`, `fast_forward`, `merged`, `rebased` or `conflicts`.
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// What was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// Uncommitted work was carried along.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    carried: bool,
    /// Files whose commits conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    conflicts: Vec<String>,
    /// Files whose uncommitted changes conflict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    uncommitted_conflicts: Vec<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// More files than anybody reads.
const NAMED: usize = 1000;

impl Output for SyncedView {}

impl Operation for WorkspaceSync {
    const NAME: &'static str = "workspace_sync";
    const TOOLSET: Toolset = Toolset::Workspace;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/workspaces/{workspace}/sync");
    type Input = WorkspaceSyncInput;
    type Output = SyncedView;

    async fn call(context: Context<'_>, input: WorkspaceSyncInput) -> Result<SyncedView> {
        let request = SyncRequest {
            workspace: WorkspaceReference::parse(&input.workspace)?,
            with: input.with,
            how: match input.strategy {
                Strategy::Rebase => Integration::Rebase,
                Strategy::Merge => Integration::Merge,
                Strategy::FastForward => Integration::FastForwardOnly,
            },
        };
        let synced = context
            .services
            .workspaces
            .sync(context.caller, request, context.progress)
            .await?;
        Ok(synced.into())
    }
}

/// A workspace that is named by itself, or by its repository and branch.
pub(super) fn named(
    workspace: Option<String>,
    repo: Option<String>,
    branch: Option<String>,
) -> Result<WorkspaceReference> {
    let text = match (workspace, repo, branch) {
        (Some(workspace), None, None) => workspace,
        (None, Some(repo), Some(branch)) => format!("{repo}/{branch}"),
        _ => {
            return Err(agentyard_services::Error::invalid(
                "which workspace? Pass `workspace`, or `repo` and `branch`",
            ));
        }
    };
    WorkspaceReference::parse(&text)
}

impl From<Synced> for SyncedView {
    fn from(synced: Synced) -> Self {
        let integrated = synced.integrated;
        let mut conflicts = Vec::new();
        let mut result = match integrated.result {
            IntegrationResult::UpToDate => "up_to_date",
            IntegrationResult::FastForward => "fast_forward",
            IntegrationResult::Merged => "merged",
            IntegrationResult::Rebased { .. } => "rebased",
            IntegrationResult::Stopped(stopped) => {
                conflicts = stopped.files.into_iter().map(|file| file.path).collect();
                "conflicts"
            }
            IntegrationResult::WouldConflict(files) => {
                conflicts = files;
                "conflicts"
            }
        };
        let mut uncommitted = synced.unsaved_conflicts;
        if !uncommitted.is_empty() {
            result = "conflicts";
        }
        let next = if !uncommitted.is_empty() {
            Some("commit the changes in these files, then call again".to_owned())
        } else if result == "conflicts" {
            Some(format!(
                "git_rebase or git_merge with origin/{} in this workspace stops at the conflicts, to be resolved there",
                synced.with
            ))
        } else {
            None
        };
        conflicts.truncate(NAMED);
        uncommitted.truncate(NAMED);
        let stayed = result == "conflicts";
        let head = if stayed {
            integrated.previous
        } else {
            integrated.head
        };
        Self {
            workspace: synced.workspace.id,
            branch: synced.workspace.branch,
            with: format!("origin/{}", synced.with),
            result,
            previous: integrated
                .previous
                .filter(|previous| Some(previous) != head.as_ref())
                .map(|id| id.to_string()),
            head: head.map(|id| id.to_string()),
            carried: synced.carried,
            conflicts,
            uncommitted_conflicts: uncommitted,
            next,
        }
    }
}
