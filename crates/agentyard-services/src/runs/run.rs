//! One run: its events, and who attends it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_model::{Caller, RunId, Subject, TenantId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::log::{Log, RunHappening};
use super::spool::Spool;

/// One run.
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) tenant: TenantId,
    /// Who started it.
    pub(super) subject: Subject,
    log: Mutex<Log>,
    spool: Mutex<Spool>,
    /// What came of it beside its end, for whoever knows what that is.
    result: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    /// The number of the newest event.
    newest: watch::Sender<u64>,
    presence: watch::Sender<Presence>,
    ended_at: Mutex<Option<Instant>>,
}

/// Whether somebody wants a run.
#[derive(Debug, Clone, Copy)]
struct Presence {
    /// How many attend it.
    attending: usize,
    /// Until when those are waited for who left.
    expected_until: Instant,
    /// Whether it is to end whoever attends it.
    abandoned: bool,
}

impl Run {
    /// A run that has not begun yet. Who starts it attends it, and is not waited for when it leaves.
    pub(super) fn started_by(caller: &Caller, spool: PathBuf) -> Attendance {
        let presence = Presence {
            attending: 0,
            expected_until: Instant::now(),
            abandoned: false,
        };
        let run = Self {
            id: RunId::new(),
            tenant: caller.tenant,
            subject: caller.subject.clone(),
            log: Mutex::default(),
            spool: Mutex::new(Spool::new(spool)),
            result: Mutex::default(),
            newest: watch::Sender::new(0),
            presence: watch::Sender::new(presence),
            ended_at: Mutex::default(),
        };
        Attendance::new(Arc::new(run), Duration::ZERO)
    }

    /// Writes down what happened.
    pub(super) fn tell(&self, happening: RunHappening) {
        let is_end = happening.is_end();
        if let RunHappening::Output { stream, text, .. } = &happening {
            self.spool().push(*stream, text);
        }
        let last = {
            let mut log = self.log();
            log.push(happening);
            log.last()
        };
        if is_end {
            *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        self.newest.send_replace(last);
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what came of it.
    pub(super) fn set_result(&self, result: Arc<dyn Any + Send + Sync>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// What came of it, when that is of this kind.
    pub(super) fn result<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner).clone();
        result.and_then(|result| result.downcast().ok())
    }

    /// Is told of every new event.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    pub(super) fn ended_at(&self) -> Option<Instant> {
        *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) {
        let mut news = self.news();
        // The sender is in this run, so it cannot be gone.
        let _ = news.wait_for(|_| self.ended_at().is_some()).await;
    }

    /// Ends it, whoever attends it.
    pub(super) fn abandon(&self) {
        self.presence.send_modify(|presence| presence.abandoned = true);
    }

    /// Returns when nobody attends it, and whoever left did not come back in time.
    pub(super) async fn abandoned(&self) {
        let mut changes = self.presence.subscribe();
        loop {
            let presence = *changes.borrow_and_update();
            if presence.abandoned || presence.attending == 0 && presence.expected_until <= Instant::now() {
                return;
            }
            let expired = async {
                match presence.attending {
                    0 => sleep_until(presence.expected_until).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = changes.changed() => {}
                () = expired => {}
            }
        }
    }
}

/// Somebody's presence at a run, until it is dropped.
pub(super) struct Attendance {
    pub(super) run: Arc<Run>,
    /// How long they are waited for when they have left.
    pub(super) linger: Duration,
}

impl Attendance {
    pub(super) fn new(run: Arc<Run>, linger: Duration) -> Self {
        run.presence.send_modify(|presence| presence.attending += 1);
        Self { run, linger }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let until = Instant::now() + self.linger;
        self.run.presence.send_modify(|presence| {
            presence.attending -= 1;
            presence.expected_until = presence.expected_until.max(until);
        });
    }
}
