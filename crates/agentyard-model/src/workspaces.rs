//! Workspaces: a branch of a repository in a tree of its own.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RepoId, TenantId, Timestamp, WorkspaceId};

/// How far a workspace is in its life. It is written down before anything is done on disk, so that what a crash
/// left half done is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WorkspaceState {
    /// Its tree is being made.
    Opening,
    /// Its tree is there.
    Open,
    /// Its unsaved work is being kept and its tree removed.
    Closing,
    /// It has no tree.
    Closed,
}

impl WorkspaceState {
    /// The state as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for WorkspaceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WorkspaceState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Opening, Self::Open, Self::Closing, Self::Closed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(())
    }
}

/// A workspace as it stands. A repository has one for each branch that somebody has opened; it is closed and
/// opened again under the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Which one.
    pub id: WorkspaceId,
    /// Whose.
    pub tenant: TenantId,
    /// Of which repository.
    pub repo: RepoId,
    /// On which branch.
    pub branch: String,
    /// What its directory is called: the branch as a slug, and a short hash of it.
    pub name: String,
    /// For which agent it was opened.
    pub agent: Option<String>,
    /// For which task.
    pub task: Option<String>,
    /// The branch that it was made from and merges into.
    pub target: Option<String>,
    /// How far it is.
    pub state: WorkspaceState,
    /// How its tree was made, once it was.
    pub way: Option<String>,
    /// The commit over whose tree it is a view.
    pub base: Option<String>,
    /// Who works in it, as [`crate::Subject`] displays itself.
    pub owner: String,
    /// Until when it is not taken from them.
    pub lease_until: Timestamp,
    /// When it was first opened.
    pub created_at: Timestamp,
    /// When it was last used.
    pub used_at: Timestamp,
    /// When it was last closed, while it is not open again.
    pub closed_at: Option<Timestamp>,
    /// Where its unsaved work was kept when it was last closed, when there was any.
    pub kept_ref: Option<String>,
    /// Why it was last closed, while it is not open again.
    pub closed_because: Option<String>,
    /// How much disk it used when that was last measured.
    pub disk_bytes: Option<u64>,
}

/// A workspace that somebody wants.
#[derive(Debug, Clone)]
pub struct NewWorkspace {
    /// Whose.
    pub tenant: TenantId,
    /// Of which repository.
    pub repo: RepoId,
    /// On which branch.
    pub branch: String,
    /// What its directory is to be called.
    pub name: String,
    /// For which agent.
    pub agent: Option<String>,
    /// For which task.
    pub task: Option<String>,
    /// The branch that it is made from and merges into.
    pub target: Option<String>,
    /// Who will work in it.
    pub owner: String,
    /// Until when it is not taken from them.
    pub lease_until: Timestamp,
    /// How many workspaces of the repository may be there at once.
    pub limit: u32,
}

/// Which workspaces are wanted; a field left out excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceFilter {
    /// Those of this repository.
    pub repo: Option<RepoId>,
    /// Those of this owner.
    pub owner: Option<String>,
    /// Also those that are closed.
    pub closed: bool,
}

/// What was counted of one kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceMeasure {
    /// Of which kind.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// What they add up to, in the unit that the name says.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_as_itself() {
        for state in [
            WorkspaceState::Opening,
            WorkspaceState::Open,
            WorkspaceState::Closing,
            WorkspaceState::Closed,
        ] {
            assert_eq!(state.to_string().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert!("gone".parse::<WorkspaceState>().is_err());
    }
}
