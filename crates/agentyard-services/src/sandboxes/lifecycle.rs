//! What becomes of a sandbox while it is somebody's: it is prolonged, paused, and runs again.

use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, SandboxId, SandboxState, Secret, Timestamp};
use agentyard_sandbox::Standing;
use agentyard_store::SandboxToken;

use super::kept::Phase;
use super::owners::{Wish, absent};
use super::standing_up::{Entered, not_done};
use super::{DEFAULT_TIMEOUT, SandboxAccess, SandboxDetails, Sandboxes, checking};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::turns::to_its_end;

impl Sandboxes {
    /// Lets a sandbox stay for so long from now at least, and wakes it when it is paused: with what was in its memory,
    /// unless that is gone or not wanted any more (`cold`).
    ///
    /// # Errors
    /// When the caller may not, or there is no such sandbox.
    pub async fn connect(
        &self,
        caller: &Caller,
        id: SandboxId,
        timeout: Option<Duration>,
        cold: bool,
    ) -> Result<SandboxAccess> {
        self.row(caller, id, Wish::Use).await?;
        let timeout = checking::timeout(&self.0.parts.settings, timeout)?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let entered = this.enter(&caller, id, Wish::Use).await?;
            let ends_at = this.0.parts.clock.now().after(timeout);
            let event = AuditEvent::done(&caller, "sandbox_connect", id);
            if entered.row.state == SandboxState::Paused {
                let row = this.wake(&entered, ends_at, cold, &event).await?;
                return this.access(row, true).await;
            }
            let ends_at = ends_at.max(entered.row.ends_at);
            let row = this.prolong(&entered, ends_at, &event).await?;
            this.access(row, false).await
        })
        .await
    }

    /// Lets a sandbox stay for so long from now, which may be shorter than before.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or it is paused.
    pub async fn set_timeout(
        &self,
        caller: &Caller,
        id: SandboxId,
        timeout: Duration,
    ) -> Result<SandboxDetails> {
        self.row(caller, id, Wish::Use).await?;
        let timeout = checking::timeout(&self.0.parts.settings, Some(timeout))?;
        let entered = self.enter(caller, id, Wish::Use).await?;
        if entered.row.state == SandboxState::Paused {
            return Err(paused(id, "its time does not pass"));
        }
        let ends_at = self.0.parts.clock.now().after(timeout);
        let event = AuditEvent::done(caller, "sandbox_set_timeout", id);
        let row = self.prolong(&entered, ends_at, &event).await?;
        Ok(self.details(row))
    }

    /// Stops a sandbox until somebody connects to it again. What is in memory stays there while this process lives, if
    /// it is wanted; the files stay in any case.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or it is paused already.
    pub async fn pause(&self, caller: &Caller, id: SandboxId, keep_memory: bool) -> Result<SandboxDetails> {
        self.row(caller, id, Wish::Use).await?;
        let (this, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let entered = this.enter(&caller, id, Wish::Use).await?;
            if entered.row.state == SandboxState::Paused {
                return Err(paused(id, "it is paused already"));
            }
            let event = AuditEvent::done(&caller, "sandbox_pause", id);
            let row = this.lay_down(&entered, keep_memory, &event).await?;
            Ok(this.details(row))
        })
        .await
    }

    /// The token that opens everything in a sandbox.
    ///
    /// # Errors
    /// When the caller may not, or there is no such sandbox.
    pub async fn access_token(&self, caller: &Caller, id: SandboxId) -> Result<Secret> {
        self.token(caller, id, SandboxToken::Access).await
    }

    /// The token that opens what listens in a sandbox.
    ///
    /// # Errors
    /// When the caller may not, or there is no such sandbox.
    pub async fn traffic_token(&self, caller: &Caller, id: SandboxId) -> Result<Secret> {
        self.token(caller, id, SandboxToken::Traffic).await
    }

    async fn token(&self, caller: &Caller, id: SandboxId, kind: SandboxToken) -> Result<Secret> {
        self.row(caller, id, Wish::Use).await?;
        let token = self.0.parts.store.sandboxes().token(kind, id).await;
        token.map_err(|error| from_store("making the token of a sandbox", error))
    }

    /// The sandbox itself, for those who use it within this process. One that is paused is woken if it wakes by itself.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or it is paused.
    pub async fn standing(&self, caller: &Caller, id: SandboxId) -> Result<Standing> {
        let row = self.row(caller, id, Wish::Use).await?;
        self.answering(caller, &row).await
    }

    /// The sandbox itself, woken if it wakes by itself.
    pub(super) async fn answering(
        &self,
        caller: &Caller,
        row: &agentyard_model::Sandbox,
    ) -> Result<Standing> {
        let kept = self.kept().get(&row.id).cloned();
        if let Some(standing) = kept.and_then(|kept| kept.running()) {
            return Ok(standing);
        }
        let (this, caller, row) = (self.clone(), caller.clone(), row.clone());
        to_its_end(async move {
            let entered = this.enter_row(&row).await?;
            // Somebody else may have woken it meanwhile.
            if let Some(standing) = entered.kept.running() {
                return Ok(standing);
            }
            if entered.row.state == SandboxState::Paused {
                if !entered.row.lifecycle.auto_resume {
                    return Err(paused(row.id, "it does not answer"));
                }
                let ends_at = this.0.parts.clock.now().after(DEFAULT_TIMEOUT);
                let event = AuditEvent::done(
                    &caller,
                    "sandbox_connect",
                    format_args!("{} (woken by traffic)", row.id),
                );
                this.wake(&entered, ends_at, false, &event).await?;
            }
            entered.kept.running().ok_or_else(|| absent(row.id))
        })
        .await
    }

    async fn prolong(
        &self,
        entered: &Entered,
        ends_at: Timestamp,
        event: &AuditEvent,
    ) -> Result<agentyard_model::Sandbox> {
        let id = entered.row.id;
        if let Some(standing) = entered.kept.running() {
            let renewed = standing.renew(self.0.parts.settings.max_timeout).await;
            renewed.map_err(|error| not_done("the sandbox was not prolonged", error))?;
        }
        let set = self.0.parts.store.sandboxes().set_end(id, ends_at, event).await;
        let row = set.map_err(|error| from_store("prolonging a sandbox", error))?;
        entered.kept.set_ends_at(ends_at);
        self.0.sooner.notify_one();
        row.ok_or_else(|| absent(id))
    }

    /// Pauses a sandbox that runs.
    pub(super) async fn lay_down(
        &self,
        entered: &Entered,
        keep_memory: bool,
        event: &AuditEvent,
    ) -> Result<agentyard_model::Sandbox> {
        let (id, kept) = (entered.row.id, &entered.kept);
        let is_elsewhere = self.backend()?.backend().is_elsewhere();
        if let Phase::Running(standing) = kept.phase() {
            // Where its files are not ours, they stay only as long as it does.
            if keep_memory || is_elsewhere {
                let frozen = standing.freeze().await;
                frozen.map_err(|error| not_done("the sandbox was not paused", error))?;
                kept.set_phase(Phase::Frozen(standing));
            } else {
                kept.watch(None);
                kept.set_phase(Phase::Absent);
                standing.take_down().await;
            }
        }
        let noted = self.0.parts.store.sandboxes();
        let noted = noted.paused(id, keep_memory || is_elsewhere, event).await;
        let row = noted.map_err(|error| from_store("pausing a sandbox", error))?;
        row.ok_or_else(|| absent(id))
    }

    /// Lets a paused sandbox run again.
    async fn wake(
        &self,
        entered: &Entered,
        ends_at: Timestamp,
        cold: bool,
        event: &AuditEvent,
    ) -> Result<agentyard_model::Sandbox> {
        let (id, kept, store) = (entered.row.id, &entered.kept, &self.0.parts.store);
        let is_elsewhere = self.backend()?.backend().is_elsewhere();
        let mut phase = kept.phase();
        if let (Phase::Frozen(standing), true) = (&phase, cold && !is_elsewhere) {
            kept.watch(None);
            kept.set_phase(Phase::Absent);
            standing.take_down().await;
            phase = Phase::Absent;
        }
        match phase {
            Phase::Frozen(standing) => {
                let thawed = standing.thaw().await;
                thawed.map_err(|error| not_done("the sandbox was not woken", error))?;
                kept.set_phase(Phase::Running(standing));
            }
            Phase::Running(_) => {}
            Phase::Absent if is_elsewhere => {
                entered.standing_elsewhere()?;
            }
            Phase::Absent => {
                let variables = store.sandboxes().environment(id).await;
                let variables = variables.map_err(|error| from_store("waking a sandbox", error))?;
                let standing = self.stand_up(&entered.row, &kept.yard, None, &variables).await?;
                self.keep(kept, standing, &variables);
            }
        }
        kept.set_ends_at(ends_at);
        self.0.sooner.notify_one();
        let noted = store.sandboxes().resumed(id, ends_at, event).await;
        if noted.is_err()
            && let Phase::Running(standing) = kept.phase()
            && standing.freeze().await.is_ok()
        {
            // It is paused as long as the row says so.
            kept.set_phase(Phase::Frozen(standing));
        }
        let row = noted.map_err(|error| from_store("waking a sandbox", error))?;
        row.ok_or_else(|| absent(id))
    }
}

fn paused(id: SandboxId, why: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("the sandbox {id} is paused: {why}"))
        .hint("sandbox_connect wakes it")
}
