//! The files of sandboxes as they were, of which others can be made.

use super::kept::Phase;
use super::owners::{Wish, owner_of};
use super::standing_up::{Entered, not_done};
use super::templates::kept_elsewhere;
use super::yards::{Yard, from_grounds};
use super::{Sandboxes, checking};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::turns::to_its_end;
use agentyard_model::{AuditEvent, Caller, Page, PageRequest, Permission, SandboxId, Snapshot, SnapshotId};

/// How many snapshots a tenant may have.
const MOST: u32 = 256;

impl Sandboxes {
    /// Keeps the files of a sandbox as they are now. It stands still for that moment.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or the name is taken.
    pub async fn snapshot(&self, caller: &Caller, id: SandboxId, name: Option<String>) -> Result<Snapshot> {
        self.row(caller, id, Wish::Use).await?;
        if let Some(name) = &name {
            checking::snapshot_name(name)?;
        }
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let entered = this.enter(&caller, id, Wish::Use).await?;
            let snapshot = this
                .take_snapshot(&caller, &entered, name, "sandbox_snapshot")
                .await?;
            let snapshots = this.0.parts.store.sandbox_snapshots();
            let completed = snapshots.completed(snapshot.id, snapshot.remote.as_deref()).await;
            completed.map_err(|error| from_store("making a snapshot", error))?;
            Ok(snapshot)
        })
        .await
    }

    /// The snapshots of the caller's tenant, or only the caller's own when it may not see others', newest first; only
    /// those of one sandbox, or of one name, where that is said.
    ///
    /// # Errors
    /// When the caller may not, or the cursor is not one of this list's.
    pub async fn snapshots(
        &self,
        caller: &Caller,
        of: Option<SandboxId>,
        name: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<Snapshot>> {
        caller.require(Permission::AgentRun)?;
        let sees_all = caller.permissions.contains(Wish::See.of_others());
        let owner = (!sees_all).then(|| owner_of(caller));
        let snapshots = self.0.parts.store.sandbox_snapshots();
        let found = snapshots
            .list(caller.tenant, owner.as_deref(), of, name, page)
            .await;
        found.map_err(|error| from_store("listing the snapshots", error))
    }

    /// Removes a snapshot. Sandboxes that were made from it stay as they are.
    ///
    /// # Errors
    /// When the caller may not, or there is none.
    pub async fn remove_snapshot(&self, caller: &Caller, id_or_name: &str) -> Result<Snapshot> {
        caller.require(Permission::AgentRun)?;
        let snapshots = self.0.parts.store.sandbox_snapshots();
        let found = snapshots.get(caller.tenant, id_or_name).await;
        let found = found.map_err(|error| from_store("looking up a snapshot", error))?;
        let snapshot = found.ok_or_else(|| absent(id_or_name))?;
        if snapshot.owner != owner_of(caller) {
            caller.require(Wish::Use.of_others())?;
        }
        // What is on this machine can be removed whoever makes sandboxes now.
        if snapshot.remote.is_some() && !self.backend()?.backend().is_elsewhere() {
            return Err(kept_elsewhere(&snapshot));
        }
        let yard = self.yard_of(&snapshot.keeper).await?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let snapshots = this.0.parts.store.sandbox_snapshots();
            let failed = |error| from_store("removing a snapshot", error);
            let event = AuditEvent::done(&caller, "sandbox_snapshot_remove", snapshot.id);
            let is_ours = snapshots.removing(snapshot.id, &event).await.map_err(failed)?;
            if !is_ours {
                return Err(absent(&snapshot.id.to_string()));
            }
            this.discard(&yard, snapshot.id, snapshot.remote.as_deref())
                .await?;
            snapshots.forget(snapshot.id).await.map_err(failed)?;
            Ok(snapshot)
        })
        .await
    }

    /// Keeps the files of a sandbox; nobody finds the snapshot before it is noted to be complete.
    pub(super) async fn take_snapshot(
        &self,
        caller: &Caller,
        entered: &Entered,
        name: Option<String>,
        action: &'static str,
    ) -> Result<Snapshot> {
        let (row, kept) = (&entered.row, &entered.kept);
        let is_elsewhere = self.backend()?.backend().is_elsewhere();
        let id = SnapshotId::new();
        let mut snapshot = Snapshot {
            id,
            tenant: row.tenant,
            owner: owner_of(caller),
            name,
            sandbox: row.id,
            template: row.template.clone(),
            image: row.image.clone(),
            keeper: row.keeper.clone(),
            // Until the service says what it calls it, it is asked for by our name, and is found by that.
            remote: is_elsewhere.then(|| id.to_string()),
            created_at: self.0.parts.clock.now(),
        };
        let snapshots = self.0.parts.store.sandbox_snapshots();
        let failed = |error| from_store("making a snapshot", error);
        let event = AuditEvent::done(caller, action, format_args!("{} of {}", snapshot.id, row.id));
        let created = snapshots.create(&snapshot, MOST, &event).await.map_err(failed)?;
        created.ok_or_else(|| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!("the snapshot was not made: your tenant has {MOST} already"),
            )
            .hint("remove some with sandbox_snapshot_remove")
        })?;
        let taken = if is_elsewhere {
            copied_elsewhere(entered, id).await.map(Some)
        } else {
            copied_here(entered, id).await.map(|()| None)
        };
        match taken {
            Ok(remote) => {
                snapshot.remote = remote;
                Ok(snapshot)
            }
            Err(error) => {
                // What of it cannot be removed now is when the yard is put in order: the row says so.
                let removed = self.discard(&kept.yard, id, snapshot.remote.as_deref()).await;
                if removed.is_ok() {
                    snapshots.forget(id).await.map_err(failed)?;
                }
                Err(error)
            }
        }
    }

    /// Removes what a snapshot holds, wherever that is.
    pub(super) async fn discard(&self, yard: &Yard, id: SnapshotId, remote: Option<&str>) -> Result<()> {
        match remote {
            Some(name) => {
                let removed = self.backend()?.remove_snapshot(name).await;
                removed.map_err(|error| {
                    not_done("the snapshot was not removed from the service", error)
                        .hint("nobody finds it any more, and it is tried again when the server starts")
                })
            }
            None => {
                let removed = yard.grounds.remove_snapshot(&id.to_string()).await;
                removed.map_err(|error| from_grounds(&error))
            }
        }
    }
}

/// Lets whoever keeps the sandbox copy it, and tells what they call the copy.
async fn copied_elsewhere(entered: &Entered, to: SnapshotId) -> Result<String> {
    let standing = entered.standing_elsewhere()?;
    let taken = standing.snapshot(&to.to_string()).await;
    taken.map_err(|error| not_done("the snapshot was not made", error))
}

/// Copies the files of a sandbox, which stands still meanwhile.
async fn copied_here(entered: &Entered, to: SnapshotId) -> Result<()> {
    let copy = async {
        let (from, to) = (entered.row.id.to_string(), to.to_string());
        let copied = entered.kept.yard.grounds.snapshot(&from, &to).await;
        copied.map_err(|error| from_grounds(&error))
    };
    let Phase::Running(standing) = entered.kept.phase() else {
        return copy.await;
    };
    let frozen = standing.freeze().await;
    frozen.map_err(|error| not_done("the sandbox could not be held still", error))?;
    let copied = copy.await;
    let thawed = standing.thaw().await;
    thawed.map_err(|error| not_done("the sandbox does not go on", error))?;
    copied
}

fn absent(id_or_name: &str) -> Error {
    let shown: String = id_or_name.escape_debug().take(80).collect();
    Error::not_found(format!("there is no snapshot `{shown}`")).hint("sandbox_snapshots shows what there is")
}
