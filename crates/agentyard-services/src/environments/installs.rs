//! Installations that go on: callers wait for one for a while, and come back for it when it takes longer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_model::{Caller, RunId, TenantId};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::installing::InstallReport;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Progress, Step};
use crate::runs::Waiting;

/// How long a call waits when it does not say: clients are known to give up after a minute.
const WAIT: Duration = Duration::from_secs(50);

/// The longest that a call may wait.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// How long an installation goes on whose caller was told to come back, and how long what came of it is kept.
const RETURN_WITHIN: Duration = Duration::from_secs(120);
const KEPT_FOR: Duration = Duration::from_secs(600);

/// How many there may be at once.
const MAX_INSTALLS: usize = 64;

/// What a caller who waited is told.
#[derive(Debug)]
pub struct InstallAnswer {
    /// By what to come back, while it goes on.
    pub run: Option<RunId>,
    /// What came of it; nothing while it goes on.
    pub report: Option<InstallReport>,
}

/// Installations.
#[derive(Default)]
pub(super) struct Installs(Mutex<BTreeMap<RunId, Arc<Install>>>);

struct Install {
    run: RunId,
    tenant: TenantId,
    steps: watch::Receiver<Step>,
    outcome: watch::Receiver<Option<Arc<Result<InstallReport>>>>,
    task: AbortHandle,
    presence: Mutex<Presence>,
}

/// Who wants it.
struct Presence {
    attending: usize,
    /// Until when it is kept without anybody.
    until: Instant,
}

/// Somebody who waits for an installation. It ends when the last one leaves without being told to come back.
struct Attendance {
    install: Arc<Install>,
    comes_back: bool,
}

impl Installs {
    /// Begins an installation, and waits for it.
    pub(super) async fn begin<W, F>(
        &self,
        caller: &Caller,
        work: W,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<InstallAnswer>
    where
        W: FnOnce(Progress) -> F,
        F: Future<Output = Result<InstallReport>> + Send + 'static,
    {
        let (telling, steps) = Progress::watched();
        let (done, outcome) = watch::channel(None);
        {
            let mut known = self.known();
            tidy(&mut known);
            let going_on = known
                .values()
                .filter(|install| install.outcome.borrow().is_none());
            if going_on.count() >= MAX_INSTALLS {
                return Err(Error::new(
                    ErrorKind::LimitExceeded,
                    format!("{MAX_INSTALLS} installations go on already"),
                )
                .hint("wait until some of them have ended"));
            }
        }
        let work = work(telling);
        let task = tokio::spawn(
            async move {
                let result = work.await;
                if let Err(error) = &result
                    && error.kind() == ErrorKind::Internal
                {
                    tracing::error!(error = error.chain(), "an installation failed");
                }
                done.send_replace(Some(Arc::new(result)));
            }
            .in_current_span(),
        );
        let install = Arc::new(Install {
            run: RunId::new(),
            tenant: caller.tenant,
            steps,
            outcome,
            task: task.abort_handle(),
            presence: Mutex::new(Presence {
                attending: 0,
                until: Instant::now() + KEPT_FOR,
            }),
        });
        self.known().insert(install.run, Arc::clone(&install));
        Attendance::new(install).wait(waiting, progress).await
    }

    /// Waits for an installation that was begun before.
    pub(super) async fn come_back(
        &self,
        caller: &Caller,
        run: RunId,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<InstallAnswer> {
        let found = {
            let mut known = self.known();
            tidy(&mut known);
            known
                .get(&run)
                .filter(|install| install.tenant == caller.tenant)
                .cloned()
        };
        let install = found.ok_or_else(|| {
            Error::not_found(format!("there is no installation `{run}`")).hint(
                "what came of one is kept for ten minutes; `check_installed_packages` tells what is there",
            )
        })?;
        Attendance::new(install).wait(waiting, progress).await
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<Install>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what nobody came back for.
fn tidy(known: &mut BTreeMap<RunId, Arc<Install>>) {
    let now = Instant::now();
    known.retain(|_, install| {
        let presence = install.presence();
        presence.attending > 0 || presence.until > now
    });
}

impl Install {
    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it when nobody has come back in time.
    fn end_unless_wanted(self: Arc<Self>, until: Instant) {
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            let presence = self.presence();
            if presence.attending == 0 && presence.until <= until + KEPT_FOR {
                self.task.abort();
            }
        });
    }
}

impl Attendance {
    fn new(install: Arc<Install>) -> Self {
        install.presence().attending += 1;
        Self {
            install,
            comes_back: false,
        }
    }

    async fn wait(mut self, waiting: Waiting, progress: &Progress) -> Result<InstallAnswer> {
        let run = self.install.run;
        progress.name_run(run);
        let until = Instant::now() + waiting.wait.unwrap_or(WAIT).min(MAX_WAIT);
        let (mut outcome, mut steps) = (self.install.outcome.clone(), self.install.steps.clone());
        loop {
            let has_ended = outcome.borrow_and_update().clone();
            if let Some(ended) = has_ended {
                self.comes_back = true;
                return match ended.as_ref() {
                    Ok(report) => Ok(InstallAnswer {
                        run: None,
                        report: Some(report.clone()),
                    }),
                    Err(error) => Err(error.again()),
                };
            }
            tokio::select! {
                changed = timeout_at(until, outcome.changed()) => match changed {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => {
                        return Err(Error::new(ErrorKind::Unavailable, "the installation was ended: nobody waited for it"));
                    }
                    Err(_) => {
                        self.comes_back = true;
                        return Ok(InstallAnswer { run: Some(run), report: None });
                    }
                },
                Ok(()) = steps.changed() => {
                    let step = steps.borrow_and_update().clone();
                    progress.report(step.done, step.total, step.message);
                }
            }
        }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let mut presence = self.install.presence();
        presence.attending -= 1;
        let is_last = presence.attending == 0;
        let has_ended = self.install.outcome.borrow().is_some();
        let now = Instant::now();
        presence.until = now + KEPT_FOR;
        drop(presence);
        if !is_last || has_ended {
            return;
        }
        if self.comes_back {
            Arc::clone(&self.install).end_unless_wanted(now + RETURN_WITHIN);
        } else {
            self.install.task.abort();
        }
    }
}
