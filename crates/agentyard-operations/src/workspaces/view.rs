//! How a workspace looks on the wire.

use agentyard_model::{RepoName, Timestamp, TokenId, UserId, WorkspaceId, WorkspaceState};
use agentyard_services::WorkspaceDetails;
use schemars::JsonSchema;
use serde::Serialize;

use crate::level::{Level, LevelledField};

/// A workspace.
#[derive(Serialize, JsonSchema)]
pub(super) struct WorkspaceView {
    /// Its id; git and build tools take it as `workspace`.
    pub(super) workspace: WorkspaceId,
    /// Its repository.
    repo: RepoName,
    /// Its branch.
    branch: String,
    state: WorkspaceState,
    /// Its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The branch that it came from and goes back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// Who works in it.
    owner: String,
    /// Until when it is theirs; absent when nobody uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    leased_until: Option<Timestamp>,
    /// How its tree was made: `overlay`, `reflink` or `checkout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<String>,
    /// What it alone takes on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    created_at: Timestamp,
    used_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_because: Option<String>,
    /// Where its unsaved work was kept when it was last closed; workspace_undo goes back to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

/// Which of these fields appear at which level, when they stand in an answer by themselves.
pub(super) const LEVELS: &[LevelledField] = &[
    ("owner", Level::Standard),
    ("way", Level::Standard),
    ("created_at", Level::Full),
    ("used_at", Level::Standard),
];

/// Who it is, as people say it: `user ada` in place of `user ada usr_…`. The audit log has the whole.
fn without_id(subject: &str) -> String {
    match subject.rsplit_once(' ') {
        Some((named, id)) if id.parse::<UserId>().is_ok() || id.parse::<TokenId>().is_ok() => {
            named.to_owned()
        }
        _ => subject.to_owned(),
    }
}

impl From<WorkspaceDetails> for WorkspaceView {
    fn from(details: WorkspaceDetails) -> Self {
        let WorkspaceDetails {
            row,
            repo,
            path,
            in_use,
            status: _,
        } = details;
        Self {
            workspace: row.id,
            repo,
            branch: row.branch,
            state: row.state,
            path: path.map(|path| path.display().to_string()),
            target: row.target,
            agent: row.agent,
            task: row.task,
            owner: without_id(&row.owner),
            leased_until: in_use.then_some(row.lease_until),
            way: row.way,
            disk_bytes: row.disk_bytes,
            created_at: row.created_at,
            used_at: row.used_at,
            closed_at: row.closed_at,
            closed_because: row.closed_because,
            kept: row.kept_ref,
        }
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::Caller;

    use super::*;

    #[test]
    fn an_owner_is_told_by_name() {
        assert_eq!(without_id(&Caller::local().subject.to_string()), "user local");
        assert_eq!(without_id(&format!("token ci {}", TokenId::new())), "token ci");
        for other in ["agentyard", "external \"ada l\" of \"https://id.example\""] {
            assert_eq!(without_id(other), other);
        }
    }
}
