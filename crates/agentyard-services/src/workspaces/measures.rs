//! What is counted of workspaces: told at once to who collects metrics, and kept per repository in the store.
//!
//! Counting never makes a call wait. Counts gather in memory and are written together, half a second after the
//! first of them, so a killed process loses a moment's worth and no more.

mod instruments;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_model::{RepoId, TenantId, Workspace, WorkspaceMeasure};
use agentyard_store::{MeasureChange, Store};
use tokio::runtime::Handle;

use crate::error::{Result, from_store};
use instruments::instruments;

/// What is counted. Durations are kept in microseconds, as the names say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    /// A tree was made.
    Opened,
    /// A tree was there already.
    Reused,
    /// A tree was taken away from nobody: expired, or used least recently.
    Evicted,
    /// A tree was closed, evicted or not.
    Closed,
    /// A branch was brought up to date.
    Synced,
    /// An earlier state was restored.
    Undone,
    /// Files in conflict that a sync, pull or push met.
    Conflicts,
    /// Pushes that were tried again because the remote had moved.
    PushRetries,
}

/// Whose it is, and of which repository.
type Owner = (TenantId, RepoId);

/// Counts what is done with workspaces.
#[derive(Clone)]
pub(super) struct Measures(Arc<Inner>);

struct Inner {
    store: Store,
    pending: Mutex<Pending>,
}

/// What is not in the store yet.
#[derive(Default)]
struct Pending {
    sums: BTreeMap<Owner, BTreeMap<Measure, Sum>>,
    /// Somebody will write it.
    is_scheduled: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    total: u64,
}

/// How long counts gather before they are written.
const WRITE_AFTER: Duration = Duration::from_millis(500);

/// Of how many repositories counts are held while they cannot be written. Then they are dropped: what was done
/// matters more than how often.
const MAX_OWNERS: usize = 1000;

impl Measures {
    pub(super) fn new(store: Store) -> Self {
        Self(Arc::new(Inner {
            store,
            pending: Mutex::default(),
        }))
    }

    /// A tree was made, in this time.
    pub(super) fn opened(&self, workspace: &Workspace, took: Duration) {
        self.took(owner(workspace), Measure::Opened, took);
    }

    /// A tree was there already.
    pub(super) fn reused(&self, workspace: &Workspace) {
        self.counted(owner(workspace), Measure::Reused, 1);
    }

    /// A tree was closed because it expired, or to make room.
    pub(super) fn evicted(&self, workspace: &Workspace) {
        self.counted(owner(workspace), Measure::Evicted, 1);
    }

    /// A tree was closed, in this time, whatever for.
    pub(super) fn closed(&self, workspace: &Workspace, took: Duration) {
        self.took(owner(workspace), Measure::Closed, took);
    }

    /// A branch was brought up to date, in this time, or not, because of so many files in conflict.
    pub(super) fn synced(&self, workspace: &Workspace, took: Duration, conflicts: usize) {
        self.took(owner(workspace), Measure::Synced, took);
        self.conflicts(workspace, conflicts);
    }

    /// An earlier state was restored, in this time.
    pub(super) fn undone(&self, workspace: &Workspace, took: Duration) {
        self.took(owner(workspace), Measure::Undone, took);
    }

    /// Somebody waited this long for their turn.
    pub(super) fn waited(&self, how_long: Duration) {
        instruments().wait.record(how_long.as_secs_f64(), &[]);
    }

    /// A sync, pull or push met this many files in conflict.
    pub(super) fn conflicts(&self, workspace: &Workspace, files: usize) {
        self.counted(owner(workspace), Measure::Conflicts, files as u64);
    }

    /// A push was tried this many times more.
    pub(super) fn push_retries(&self, workspace: &Workspace, retries: u32) {
        self.counted(owner(workspace), Measure::PushRetries, u64::from(retries));
    }

    /// How many workspaces are open now, of all tenants, and how much disk they use.
    pub(super) fn stand(&self, open: u64, disk_bytes: u64) {
        instruments().active.record(open, &[]);
        instruments().disk.record(disk_bytes, &[]);
    }

    /// What was counted of one repository, or of all of a tenant's, up to now.
    pub(super) async fn totals(
        &self,
        tenant: TenantId,
        repo: Option<RepoId>,
    ) -> Result<Vec<WorkspaceMeasure>> {
        self.write().await;
        let measures = self.0.store.measures().of(tenant, repo).await;
        measures.map_err(|error| from_store("look up what was counted of workspaces", error))
    }

    /// Writes what is not in the store yet. Called before a process ends, too.
    pub(super) async fn write(&self) {
        let sums = {
            let mut pending = self.pending();
            pending.is_scheduled = false;
            std::mem::take(&mut pending.sums)
        };
        for (owner, of_owner) in sums {
            let changes: Vec<MeasureChange<'_>> = of_owner
                .iter()
                .map(|(measure, sum)| MeasureChange {
                    name: measure.as_str(),
                    count: sum.count,
                    total: sum.total,
                })
                .collect();
            if let Err(error) = self.0.store.measures().add(owner.0, owner.1, &changes).await {
                tracing::warn!(%error, "what was counted of workspaces could not be written yet");
                self.take_back(owner, of_owner);
            }
        }
    }

    /// Keeps what could not be written for the next time.
    fn take_back(&self, owner: Owner, sums: BTreeMap<Measure, Sum>) {
        let mut pending = self.pending();
        if pending.sums.len() >= MAX_OWNERS && !pending.sums.contains_key(&owner) {
            return;
        }
        let of_owner = pending.sums.entry(owner).or_default();
        for (measure, sum) in sums {
            of_owner.entry(measure).or_default().add(sum);
        }
    }

    fn took(&self, owner: Owner, measure: Measure, took: Duration) {
        instruments().took(measure, took);
        let total = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.add(owner, measure, Sum { count: 1, total });
    }

    fn counted(&self, owner: Owner, measure: Measure, count: u64) {
        if count == 0 {
            return;
        }
        instruments().counted(measure, count);
        self.add(owner, measure, Sum { count, total: 0 });
    }

    fn add(&self, owner: Owner, measure: Measure, sum: Sum) {
        let mut pending = self.pending();
        if pending.sums.len() >= MAX_OWNERS && !pending.sums.contains_key(&owner) {
            return;
        }
        let of_owner = pending.sums.entry(owner).or_default();
        of_owner.entry(measure).or_default().add(sum);
        // Outside a runtime there is nobody to write; whoever counts next inside one does.
        if !pending.is_scheduled
            && let Ok(runtime) = Handle::try_current()
        {
            pending.is_scheduled = true;
            let measures = self.clone();
            runtime.spawn(async move {
                tokio::time::sleep(WRITE_AFTER).await;
                measures.write().await;
            });
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measure {
    /// The name in the store; it says the unit of what adds up.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened_us",
            Self::Reused => "reused",
            Self::Evicted => "evicted",
            Self::Closed => "closed_us",
            Self::Synced => "synced_us",
            Self::Undone => "undone_us",
            Self::Conflicts => "conflicts",
            Self::PushRetries => "push_retries",
        }
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
    }
}

fn owner(workspace: &Workspace) -> Owner {
    (workspace.tenant, workspace.repo)
}
