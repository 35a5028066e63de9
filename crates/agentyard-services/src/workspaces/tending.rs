//! What is done without being asked: finishing what a crash interrupted, and closing what nobody uses any more.

use agentyard_model::{Caller, Workspace, WorkspaceState};

use super::Workspaces;
use crate::error::{Result, from_store};

impl Workspaces {
    /// Finishes what processes that died have left half done, and closes what has expired. To be called when a
    /// server starts and now and then; several may do so at once.
    pub async fn tend(&self) {
        for step in [self.recover().await, self.expire().await, self.measure().await] {
            if let Err(error) = step {
                tracing::warn!(error = %error.chain(), "workspaces could not be tended");
            }
        }
    }

    /// Trees that were being made are removed: nobody was told of them yet. Those that were being closed are closed.
    async fn recover(&self) -> Result<()> {
        let unfinished = self.0.store.workspaces().unfinished().await;
        for row in unfinished.map_err(|error| from_store("looking for unfinished workspaces", error))? {
            self.finish(row).await;
        }
        Ok(())
    }

    /// Finishes what a process that died was doing to a workspace, and says whether that was so.
    pub(super) async fn finish(&self, row: Workspace) -> bool {
        // Whoever is at work on it holds the lock.
        let Some(hold) = self.lock_if_free(row.id, "recovery") else {
            return false;
        };
        let current = match self.0.store.workspaces().get(row.tenant, row.id).await {
            Ok(Some(current)) => current,
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!(%error, workspace = %row.id, "an unfinished workspace could not be looked up");
                return false;
            }
        };
        match current.state {
            WorkspaceState::Opening => self.unmake(current, hold).await,
            WorkspaceState::Closing => match self.finish_closing(&current, hold).await {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!(error = %error.chain(), workspace = %row.id, "closing could not be finished");
                    false
                }
            },
            WorkspaceState::Open | WorkspaceState::Closed => false,
        }
    }

    /// Closes what has not been used for longer than it may be kept.
    async fn expire(&self) -> Result<()> {
        let before = self.0.clock.now().before(self.0.settings.time_to_live);
        let expired = self.0.store.workspaces().expired(before).await;
        for row in expired.map_err(|error| from_store("looking for expired workspaces", error))? {
            let caller = Caller::machine(row.tenant);
            if let Err(error) = self.evict(&caller, &row, "not used for too long").await {
                tracing::warn!(error = %error.chain(), workspace = %row.id, "an expired workspace could not be closed");
            }
        }
        Ok(())
    }

    /// Tells who collects metrics how many workspaces there are.
    async fn measure(&self) -> Result<()> {
        let standing = self.0.store.workspaces().standing().await;
        let (open, disk_bytes) = standing.map_err(|error| from_store("counting the workspaces", error))?;
        self.0.measures.stand(open, disk_bytes);
        Ok(())
    }
}
