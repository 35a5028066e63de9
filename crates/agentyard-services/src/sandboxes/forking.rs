//! Several sandboxes that begin with the files of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, Sandbox as Row, SandboxId, Snapshot, SnapshotId};
use agentyard_sandbox::Standing;

use super::creating::Plan;
use super::owners::Wish;
use super::standing_up::{Entered, not_done};
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
        let plan = ForkPlan {
            row: entered.row.clone(),
            environment: variables
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect(),
            timeout,
        };
        if self.backend()?.backend().is_elsewhere() {
            self.forked_elsewhere(caller, &entered, count, &plan).await
        } else {
            self.forked_here(caller, entered, count, &plan).await
        }
    }

    /// Copies are made of a snapshot that nobody sees.
    async fn forked_here(
        &self,
        caller: &Caller,
        entered: Entered,
        count: u32,
        plan: &ForkPlan,
    ) -> Result<Vec<Result<SandboxAccess>>> {
        let snapshot = self.take_snapshot(caller, &entered, None, "sandbox_fork").await?;
        let yard = Arc::clone(&entered.kept.yard);
        drop(entered);
        let plans = (0..count).map(|_| Ok(plan.of(Some(snapshot.clone()), None)));
        let made = self.make_all(caller, plans.collect()).await;
        self.drop_nameless(&yard, snapshot.id).await;
        Ok(made)
    }

    /// Removes the snapshot that forks were made from, which was nobody's. What it holds stays as long as they need it.
    /// They are there whatever comes of this; what stays behind goes when the yard is put in order.
    async fn drop_nameless(&self, yard: &Yard, snapshot: SnapshotId) {
        if let Err(error) = self.discard(yard, snapshot, None).await {
            tracing::warn!(%error, %snapshot, "the files that sandboxes were forked from could not be removed");
            return;
        }
        if let Err(error) = self.0.parts.store.sandbox_snapshots().forget(snapshot).await {
            tracing::warn!(%error, %snapshot, "what sandboxes were forked from could not be forgotten");
        }
    }

    /// Copies are made by whoever keeps the sandbox, and are ours when they are on record. Those that cannot be are ended.
    async fn forked_elsewhere(
        &self,
        caller: &Caller,
        entered: &Entered,
        count: u32,
        plan: &ForkPlan,
    ) -> Result<Vec<Result<SandboxAccess>>> {
        let forked = entered.standing_elsewhere()?.fork(count).await;
        let forked = forked.map_err(|error| not_done("the sandbox was not forked", error))?;
        let event = AuditEvent::done(caller, "sandbox_fork", entered.row.id);
        self.0.parts.audit.record_soon(event).await;
        let plans = forked.into_iter().map(|standing| {
            let standing = standing.map_err(|error| not_done("a copy was not made", error))?;
            Ok(plan.of(None, Some(standing)))
        });
        Ok(self.make_all(caller, plans.collect()).await)
    }

    async fn make_all(&self, caller: &Caller, plans: Vec<Result<Plan>>) -> Vec<Result<SandboxAccess>> {
        let mut making = tokio::task::JoinSet::new();
        for plan in plans {
            let (this, caller) = (self.clone(), caller.clone());
            making.spawn(async move { this.make(&caller, plan?).await });
        }
        let mut made = Vec::new();
        while let Some(fork) = making.join_next().await {
            made.push(fork.unwrap_or_else(|error| Err(Error::internal("forking a sandbox", error))));
        }
        made
    }
}

/// What all forks of a sandbox have of it.
struct ForkPlan {
    row: Row,
    environment: BTreeMap<String, String>,
    timeout: Duration,
}

impl ForkPlan {
    /// One fork: of a snapshot, or one that stands already.
    fn of(&self, snapshot: Option<Snapshot>, standing: Option<Standing>) -> Plan {
        Plan {
            origin: Origin {
                template: self.row.template.clone(),
                image: self.row.image.clone(),
                snapshot,
            },
            timeout: self.timeout,
            lifecycle: self.row.lifecycle,
            metadata: self.row.metadata.clone(),
            environment: self.environment.clone(),
            network: self.row.network.clone(),
            idempotency_key: None,
            standing,
            action: "sandbox_create",
        }
    }
}
