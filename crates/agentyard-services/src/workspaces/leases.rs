//! Who works in a workspace, and since when that was last written down.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentyard_model::{Caller, Workspace, WorkspaceId};

use super::Workspaces;
use crate::error::{Error, ErrorKind, Result, from_store};

/// A use is written down once in so long: every call would be a write otherwise.
const EVERY: Duration = Duration::from_secs(15);

/// When each use was last written down by this process.
#[derive(Default)]
pub(super) struct NotedUses(Mutex<HashMap<(WorkspaceId, String), Instant>>);

impl NotedUses {
    /// Whether it is time to write this one down.
    fn is_due(&self, workspace: WorkspaceId, by: &str) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        noted.retain(|_, at| now.duration_since(*at) < EVERY);
        match noted.get(&(workspace, by.to_owned())) {
            Some(_) => false,
            None => {
                noted.insert((workspace, by.to_owned()), now);
                true
            }
        }
    }

    pub(super) fn forget(&self, workspace: WorkspaceId) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|(id, _), _| *id != workspace);
    }
}

impl Workspaces {
    /// Notes that the caller uses an open workspace, which prolongs its lease.
    pub(super) async fn note_use(&self, caller: &Caller, row: Workspace) -> Result<Workspace> {
        let by = caller.subject.to_string();
        if !self.0.leases.is_due(row.id, &by) {
            return Ok(row);
        }
        let until = self.0.clock.now().after(self.0.settings.lease);
        let noted = self
            .0
            .store
            .workspaces()
            .used(row.id, &by, until)
            .await
            .map_err(|error| from_store("noting the use of the workspace", error))?;
        noted.ok_or_else(|| {
            Error::new(
                ErrorKind::Conflict,
                format!(
                    "the workspace {} on {} was closed at this moment",
                    row.id, row.branch
                ),
            )
            .hint("workspace_open opens it again, as it was")
        })
    }

    /// Whether somebody else works in it.
    pub(super) fn in_use_by_other(&self, caller: &Caller, row: &Workspace) -> bool {
        row.owner != caller.subject.to_string() && row.lease_until > self.0.clock.now()
    }
}
