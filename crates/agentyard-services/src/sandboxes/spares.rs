//! Sandboxes that are stood up before somebody asks for them, so that most are given one at once. Nobody sees them: they
//! have no row, and what a process leaves of them goes when its yard is put in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentyard_model::{SandboxId, SandboxNetwork};
use agentyard_sandbox::{Backend, Standing};
use tokio::time::Instant;

use super::Sandboxes;
use super::creating::Plan;
use super::standing_up::SiteWish;
use super::yards::Yard;

/// After how long without anybody who wants a sandbox none is kept ready.
const IDLE: Duration = Duration::from_secs(600);

/// How often it is looked whether others are done who are given a sandbox.
const LOOK: Duration = Duration::from_millis(50);

/// Sandboxes that nobody has yet.
#[derive(Default)]
pub(super) struct Spares {
    ready: Mutex<Vec<Spare>>,
    last_wanted: Mutex<Option<Instant>>,
    is_filling: AtomicBool,
    /// No more are made.
    is_over: AtomicBool,
    /// How many sandboxes are being made just now for those who wait for them.
    in_making: AtomicUsize,
}

/// A sandbox that nobody has yet.
pub(super) struct Spare {
    pub(super) id: SandboxId,
    yard: Arc<Yard>,
    pub(super) standing: Standing,
}

/// Somebody waits for a sandbox.
pub(super) struct Busy<'a>(&'a Spares);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.in_making.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Spares {
    pub(super) fn busy(&self) -> Busy<'_> {
        self.in_making.fetch_add(1, Ordering::Relaxed);
        *self.last_wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Busy(self)
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Vec<Spare>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn are_idle(&self) -> bool {
        let last = *self.last_wanted.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| last.elapsed() > IDLE)
    }
}

impl Sandboxes {
    /// One that is ready and as planned, if there is one.
    pub(super) async fn take_spare(&self, plan: &Plan, yard: &Arc<Yard>) -> Option<Spare> {
        let is_plain = plan.origin.image.is_none() && plan.origin.snapshot.is_none();
        if !is_plain
            || plan.standing.is_some()
            || self.reach(&plan.network) != self.reach(&SandboxNetwork::default())
        {
            return None;
        }
        loop {
            let spare = self.0.spares.ready().pop()?;
            let has_ended = tokio::select! {
                biased;
                _ = spare.standing.ended() => true,
                () = std::future::ready(()) => false,
            };
            if has_ended {
                remove(spare).await;
            } else if Arc::ptr_eq(&spare.yard, yard) {
                return Some(spare);
            } else {
                self.give_back(Some(spare));
                return None;
            }
        }
    }

    /// Keeps one that was not wanted after all.
    pub(super) fn give_back(&self, spare: Option<Spare>) {
        self.0.spares.ready().extend(spare);
    }

    /// Stands up as many as there should be, when nobody waits for one any more.
    pub(super) fn refill_spares(&self) {
        let is_ours = self
            .0
            .parts
            .sandbox
            .as_ref()
            .is_some_and(|sandbox| matches!(sandbox.backend(), Backend::Bubblewrap | Backend::Podman));
        let spares = &self.0.spares;
        if !is_ours
            || self.0.parts.settings.spare == 0
            || spares.is_over.load(Ordering::Relaxed)
            || spares.is_filling.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let all = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            while let Some(all) = all.upgrade().map(Self) {
                if all.0.spares.in_making.load(Ordering::Relaxed) > 0 {
                    drop(all);
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                let went_well = all.add_spare().await;
                let spares = &all.0.spares;
                let is_full = spares.ready().len() >= all.0.parts.settings.spare;
                if !went_well || is_full || spares.is_over.load(Ordering::Relaxed) {
                    spares.is_filling.store(false, Ordering::Relaxed);
                    return;
                }
            }
        });
    }

    /// Says whether another one could be made after this.
    async fn add_spare(&self) -> bool {
        if self.0.spares.ready().len() >= self.0.parts.settings.spare {
            return true;
        }
        let Ok(yard) = self.yard().await else {
            return false;
        };
        let id = SandboxId::new();
        let wish = SiteWish {
            id: id.to_string(),
            from: None,
            image: None,
            reach: self.reach(&SandboxNetwork::default()),
        };
        match self.stand_up_site(&yard, wish, &BTreeMap::new()).await {
            Ok(standing) => {
                let spare = Spare { id, yard, standing };
                if self.0.spares.is_over.load(Ordering::Relaxed) {
                    remove(spare).await;
                } else {
                    self.give_back(Some(spare));
                }
                true
            }
            Err(error) => {
                tracing::warn!(error = %error.chain(), "no sandbox could be stood up in advance");
                let _ = yard.grounds.remove(&id.to_string()).await;
                false
            }
        }
    }

    /// Takes down what nobody has wanted for long.
    pub(super) async fn tend_spares(&self) {
        if self.0.spares.are_idle() {
            self.drain_spares().await;
        }
    }

    /// Takes all down, for good.
    pub(super) async fn end_spares(&self) {
        self.0.spares.is_over.store(true, Ordering::Relaxed);
        self.drain_spares().await;
    }

    async fn drain_spares(&self) {
        let spares: Vec<Spare> = self.0.spares.ready().drain(..).collect();
        for spare in spares {
            remove(spare).await;
        }
    }
}

async fn remove(spare: Spare) {
    spare.standing.take_down().await;
    if let Err(error) = spare.yard.grounds.remove(&spare.id.to_string()).await {
        tracing::warn!(%error, "the files of a sandbox that nobody had could not be removed");
    }
}
