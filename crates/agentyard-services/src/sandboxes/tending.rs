//! What has to be done about sandboxes though nobody asks for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, SandboxState, Timestamp};
use tokio::task::JoinHandle;

use super::Sandboxes;
use super::ending::take_down;
use super::kept::{EndWithThis, Kept};
use super::metrics::SAMPLED_EVERY;
use crate::error::{Result, from_store};
use crate::sandbox_measures as measures;

/// How often it is looked at the clock, which may have been set.
const LOOK: Duration = Duration::from_secs(1);

impl Sandboxes {
    /// Puts in order what processes that ended have left, and ends or pauses those whose time is up. To be called when a
    /// server starts and now and then; several may do so at once.
    pub async fn tend(&self) {
        if let Err(error) = self.adopt_yards().await {
            tracing::warn!(error = %error.chain(), "sandboxes of processes that ended could not be put in order");
        }
        for kept in self.due() {
            self.leave(kept).await;
        }
    }

    /// Looks after what is kept from now on, for as long as this is there.
    pub(super) fn tend_from_now_on(&self) {
        self.0.tending.get_or_init(|| {
            let (all, sooner) = (Arc::downgrade(&self.0), Arc::clone(&self.0.sooner));
            EndWithThis(tokio::spawn(async move {
                let mut sampled = tokio::time::Instant::now();
                let mut counted = sampled;
                let mut sampling = None;
                while let Some(all) = all.upgrade().map(Self) {
                    for kept in all.due() {
                        let all = all.clone();
                        tokio::spawn(async move { all.leave(kept).await });
                    }
                    // Looking at large disks takes long, and is not begun anew before it is done.
                    let is_sampled = sampling.as_ref().is_none_or(JoinHandle::is_finished);
                    if is_sampled && sampled.elapsed() >= SAMPLED_EVERY {
                        sampled = tokio::time::Instant::now();
                        let all = all.clone();
                        sampling = Some(tokio::spawn(async move {
                            all.tend_spares().await;
                            all.sample_all().await;
                        }));
                    }
                    measures::running(all.count_running(), counted.elapsed());
                    counted = tokio::time::Instant::now();
                    let pause = all.until_next();
                    drop(all);
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = sooner.notified() => {}
                    }
                }
            }))
        });
    }

    /// Those whose time is up and for whom nobody does anything yet.
    fn due(&self) -> Vec<Arc<Kept>> {
        let now = self.0.parts.clock.now();
        let is_due = |kept: &&Arc<Kept>| {
            kept.running().is_some()
                && kept.ends_at() <= now
                && !kept.is_leaving.swap(true, Ordering::Relaxed)
        };
        self.kept().values().filter(is_due).cloned().collect()
    }

    /// How many sandboxes run in this process, and would end with it.
    #[must_use]
    pub fn count_running(&self) -> u32 {
        let running = self
            .kept()
            .values()
            .filter(|kept| kept.running().is_some())
            .count();
        u32::try_from(running).unwrap_or(u32::MAX)
    }

    /// How long until the next one's time is up, and a look at the clock at most.
    fn until_next(&self) -> Duration {
        let now = self.0.parts.clock.now();
        let kept = self.kept();
        let running = kept.values().filter(|kept| kept.running().is_some());
        let next = running.map(|kept| kept.ends_at()).min();
        let left = next.map_or(LOOK, |next| between(now, next));
        // Those that are leaving are looked at again, though not all the time.
        left.clamp(Duration::from_millis(20), LOOK)
    }

    /// Ends or pauses a sandbox whose time is up.
    async fn leave(&self, kept: Arc<Kept>) {
        if let Err(error) = self.left(&kept).await {
            tracing::warn!(sandbox = %kept.id, error = %error.chain(), "a sandbox whose time is up could not be ended");
            // Whatever is in the way, such as a database that is away, will be for a while.
            tokio::time::sleep(LOOK).await;
        }
        kept.is_leaving.store(false, Ordering::Relaxed);
    }

    async fn left(&self, kept: &Kept) -> Result<()> {
        let found = self.0.parts.store.sandboxes().find(kept.id).await;
        let Some(row) = found.map_err(|error| from_store("looking up a sandbox", error))? else {
            // Whoever removed the row without us, nobody can find it any more.
            self.kept().remove(&kept.id);
            take_down(kept).await;
            return Ok(());
        };
        let entered = self.enter_row(&row).await?;
        // It may have been prolonged or paused while we waited for our turn.
        if entered.row.state != SandboxState::Running || kept.ends_at() > self.0.parts.clock.now() {
            return Ok(());
        }
        let lifecycle = entered.row.lifecycle;
        let machine = Caller::machine(row.tenant);
        if lifecycle.auto_pause {
            let paused = format!("{} (its time was up)", row.id);
            let event = AuditEvent::done(&machine, "sandbox_pause", paused);
            self.lay_down(&entered, !lifecycle.files_only, &event).await?;
        } else {
            let event = AuditEvent::done(&machine, "sandbox_expire", row.id);
            self.end(&entered, &event).await?;
        }
        Ok(())
    }
}

/// How long it is from one instant to another that is not earlier.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    let microseconds = to.as_microseconds().saturating_sub(from.as_microseconds());
    Duration::from_micros(u64::try_from(microseconds).unwrap_or_default())
}
