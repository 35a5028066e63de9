//! Several sandboxes that begin with the files of one.

use std::time::Duration;

use agentyard_model::{Caller, SandboxId, SnapshotId};

use super::creating::Plan;
use super::owners::Wish;
use super::templates::Origin;
use super::yards::Yard;
use super::{SandboxAccess, Sandboxes, checking};
use crate::error::{Error, Result, from_store};
use crate::turns::to_its_end;

/// How many can be made at once.
const MOST: u32 = 20;

impl Sandboxes {
    /// Makes sandboxes with the files, notes, environment and network of one, which stands still for a moment. Each may
    /// fail by itself.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, too many are wanted, or its files cannot be kept.
    pub async fn fork(
        &self,
        caller: &Caller,
        id: SandboxId,
        count: u32,
        timeout: Option<Duration>,
    ) -> Result<Vec<Result<SandboxAccess>>> {
        self.row(caller, id, Wish::Use).await?;
        if !(1..=MOST).contains(&count) {
            return Err(Error::invalid(format!(
                "`count`: expected 1 to {MOST}, got {count}"
            )));
        }
        let timeout = checking::timeout(&self.0.parts.settings, timeout)?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move { this.forked(&caller, id, count, timeout).await }).await
    }

    async fn forked(
        &self,
        caller: &Caller,
        id: SandboxId,
        count: u32,
        timeout: Duration,
    ) -> Result<Vec<Result<SandboxAccess>>> {
        let store = &self.0.parts.store;
        let entered = self.enter(caller, id, Wish::Use).await?;
        let variables = store.sandboxes().environment(id).await;
        let variables = variables.map_err(|error| from_store("forking a sandbox", error))?;
        let snapshot = self.take_snapshot(caller, &entered, None, "sandbox_fork").await?;
        let (row, yard) = (entered.row.clone(), entered.kept.yard.clone());
        drop(entered);
        let mut forks = tokio::task::JoinSet::new();
        for _ in 0..count {
            let plan = Plan {
                origin: Origin {
                    template: row.template.clone(),
                    image: row.image.clone(),
                    snapshot: Some(snapshot.clone()),
                },
                timeout,
                lifecycle: row.lifecycle,
                metadata: row.metadata.clone(),
                environment: variables
                    .iter()
                    .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                    .collect(),
                network: row.network.clone(),
                idempotency_key: None,
                action: "sandbox_create",
            };
            let (this, caller) = (self.clone(), caller.clone());
            forks.spawn(async move { this.make(&caller, plan).await });
        }
        let mut made = Vec::new();
        while let Some(fork) = forks.join_next().await {
            made.push(fork.unwrap_or_else(|error| Err(Error::internal("forking a sandbox", error))));
        }
        self.drop_nameless(&yard, snapshot.id).await;
        Ok(made)
    }

    /// Removes the snapshot that forks were made from, which was nobody's. What it holds stays as long as they need it.
    /// They are there whatever comes of this; what stays behind goes when the yard is put in order.
    async fn drop_nameless(&self, yard: &Yard, snapshot: SnapshotId) {
        if let Err(error) = yard.grounds.remove_snapshot(&snapshot.to_string()).await {
            tracing::warn!(%error, %snapshot, "the files that sandboxes were forked from could not be removed");
            return;
        }
        if let Err(error) = self.0.parts.store.sandbox_snapshots().forget(snapshot).await {
            tracing::warn!(%error, %snapshot, "what sandboxes were forked from could not be forgotten");
        }
    }
}
