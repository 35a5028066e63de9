//! The end of a sandbox: because somebody wants it, because it ended itself, or because this process ends.

use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, SandboxId};
use agentyard_sandbox::EndCause;

use super::Sandboxes;
use super::kept::{Kept, Phase};
use super::owners::{Wish, absent};
use super::standing_up::Entered;
use super::yards::from_grounds;
use crate::error::{Result, from_store};
use crate::turns::to_its_end;

/// How long all sandboxes together may take to end when this process does.
const TO_END_ALL: Duration = Duration::from_secs(20);

impl Sandboxes {
    /// Ends a sandbox, and removes what is left of it.
    ///
    /// # Errors
    /// When the caller may not, or there is no such sandbox.
    pub async fn kill(&self, caller: &Caller, id: SandboxId) -> Result<()> {
        self.row(caller, id, Wish::Use).await?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let entered = this.enter(&caller, id, Wish::Use).await?;
            let event = AuditEvent::done(&caller, "sandbox_kill", id);
            match this.end(&entered, &event).await? {
                true => Ok(()),
                false => Err(absent(id)),
            }
        })
        .await
    }

    /// Removes a sandbox. Says whether it was there.
    pub(super) async fn end(&self, entered: &Entered, event: &AuditEvent) -> Result<bool> {
        let (id, kept, store) = (entered.row.id, &entered.kept, &self.0.parts.store);
        let failed = |error| from_store("ending a sandbox", error);
        if !store.sandboxes().ending(id, event).await.map_err(failed)? {
            return Ok(false);
        }
        take_down(kept).await;
        self.kept().remove(&id);
        // What cannot be removed now is when the yard is put in order: the row says so.
        let removed = kept.yard.grounds.remove(&id.to_string()).await;
        removed.map_err(|error| from_grounds(&error))?;
        store.sandboxes().forget(id).await.map_err(failed)?;
        Ok(true)
    }

    /// Removes a sandbox in which nobody is left.
    pub(super) async fn ended_by_itself(&self, id: SandboxId, cause: EndCause) {
        let Ok(Some(row)) = self.0.parts.store.sandboxes().find(id).await else {
            return;
        };
        let why = match cause {
            EndCause::MemoryLimit => "it used more memory than it may",
            EndCause::DiskLimit => "it wrote more than it may",
            EndCause::OutputLimit | EndCause::Deadline | EndCause::Stopped => "it was stopped",
            EndCause::Itself => "what answers in it has ended",
        };
        let event = AuditEvent::done(
            &Caller::machine(row.tenant),
            "sandbox_end",
            format_args!("{id} ({why})"),
        );
        let ended = async {
            let entered = self.enter_row(&row).await?;
            self.end(&entered, &event).await
        };
        match ended.await {
            Ok(_) => tracing::info!(sandbox = %id, why, "a sandbox ended by itself"),
            Err(error) => {
                tracing::warn!(sandbox = %id, error = %error.chain(), "a sandbox that ended could not be removed");
            }
        }
    }

    /// Ends all sandboxes that run, and lets go of those that are paused: the process ends.
    pub(crate) async fn end_all(&self) {
        self.end_spares().await;
        let mut ending = tokio::task::JoinSet::new();
        let all: Vec<Arc<Kept>> = self.kept().values().cloned().collect();
        for kept in all {
            let this = self.clone();
            ending.spawn(async move { this.end_with_process(kept).await });
        }
        let all = async { while ending.join_next().await.is_some() {} };
        if tokio::time::timeout(TO_END_ALL, all).await.is_err() {
            tracing::warn!("not all sandboxes ended in time; they end with this process");
        }
        for yard in self.own_yards().await {
            if let Err(error) = self.0.parts.store.sandboxes().let_go(&yard.keeper).await {
                tracing::warn!(%error, "paused sandboxes could not be let go of");
            }
        }
    }

    async fn end_with_process(&self, kept: Arc<Kept>) {
        let are_files_here = self
            .backend()
            .is_ok_and(|sandbox| !sandbox.backend().is_elsewhere());
        if let Phase::Frozen(_) | Phase::Absent = kept.phase()
            && are_files_here
        {
            let _turn = Arc::clone(&kept.turn).lock_owned().await;
            take_down(&kept).await;
            return;
        }
        let found = self.0.parts.store.sandboxes().find(kept.id).await;
        let Ok(Some(row)) = found else {
            return;
        };
        let ended = format!("{} (the server stopped)", row.id);
        let event = AuditEvent::done(&Caller::machine(row.tenant), "sandbox_end", ended);
        let ended = async {
            let entered = self.enter_row(&row).await?;
            self.end(&entered, &event).await
        };
        if let Err(error) = ended.await {
            tracing::warn!(sandbox = %row.id, error = %error.chain(), "a sandbox could not be ended");
        }
    }
}

/// Ends whatever of it is in memory.
pub(super) async fn take_down(kept: &Kept) {
    kept.watch(None);
    match kept.set_phase(Phase::Absent) {
        Phase::Running(standing) | Phase::Frozen(standing) => standing.take_down().await,
        Phase::Absent => {}
    }
}
