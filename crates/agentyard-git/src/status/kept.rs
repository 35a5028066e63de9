//! When a repository is worth watching, and whose turn it is to ask.

use std::mem;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::watch::WatchBudget;
use super::watched::WatchedStatus;
use super::{Status, StatusOptions, check_cancelled};
use crate::{Error, Repository};

/// What is kept of a repository between one status and the next.
pub(crate) struct KeptStatus {
    stage: Mutex<Stage>,
    returned: Condvar,
    budget: Arc<WatchBudget>,
    watch_from: Duration,
}

enum Stage {
    /// Nobody asked yet, or the answer took no time worth saving.
    Quick,
    /// The answer took long. If somebody asks again, it pays to watch.
    Slow,
    Watched(Box<WatchedStatus>),
    /// It was tried then, and not possible.
    Unwatchable(Instant),
    /// Somebody has taken what was kept, and will bring it back.
    Taken,
}

/// Brings something back, also after a panic.
struct Turn<'kept> {
    kept: &'kept KeptStatus,
    stage: Stage,
}

/// How often those who wait look whether they were told to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// When to try again what was not possible before.
const RETRY_AFTER: Duration = Duration::from_secs(600);

impl KeptStatus {
    /// Watching begins when a status took as long as `watch_from`, and is asked for again.
    pub(crate) fn new(budget: Arc<WatchBudget>, watch_from: Duration) -> Self {
        Self {
            stage: Mutex::new(Stage::Quick),
            returned: Condvar::new(),
            budget,
            watch_from,
        }
    }

    /// The status as [`Repository::walked_status`] would give it now, and what `then` makes of it and the index.
    pub(crate) fn status<T>(
        &self,
        repository: &Repository,
        options: &StatusOptions,
        cancel: &AtomicBool,
        then: impl FnOnce(Status, &gix::index::State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(worktree) = repository.confined_worktree().filter(|_| !options.ignored) else {
            return repository.walked_status(options, cancel, then);
        };
        let (mut turn, watched) = match self.take(cancel)? {
            Stage::Quick | Stage::Taken => return self.timed_status(repository, options, cancel, then),
            Stage::Unwatchable(_) => return repository.walked_status(options, cancel, then),
            Stage::Slow => {
                let turn = Turn::of(self);
                let begun = WatchedStatus::begin(repository, Arc::clone(&self.budget));
                (turn, begun.map(Box::new))
            }
            Stage::Watched(watched) => (Turn::of(self), Some(watched)),
        };
        if let Some(mut watched) = watched {
            let outcome = watched.status(repository, worktree, options, cancel);
            if let Some(outcome) = outcome.transpose() {
                let told = outcome.and_then(|status| then(status, watched.index()));
                turn.stage = Stage::Watched(watched);
                return told;
            }
        }
        turn.stage = Stage::Unwatchable(Instant::now());
        drop(turn);
        repository.walked_status(options, cancel, then)
    }

    fn timed_status<T>(
        &self,
        repository: &Repository,
        options: &StatusOptions,
        cancel: &AtomicBool,
        then: impl FnOnce(Status, &gix::index::State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        repository.walked_status(options, cancel, |status, index| {
            if started.elapsed() >= self.watch_from {
                let mut stage = self.lock();
                if matches!(*stage, Stage::Quick) {
                    *stage = Stage::Slow;
                }
            }
            then(status, index)
        })
    }

    /// Takes what there is to take, when nobody else has it. Two would only wait for the same directories.
    fn take(&self, cancel: &AtomicBool) -> Result<Stage, Error> {
        let mut stage = self.lock();
        loop {
            match &*stage {
                Stage::Quick => return Ok(Stage::Quick),
                Stage::Unwatchable(since) if since.elapsed() < RETRY_AFTER => {
                    return Ok(Stage::Unwatchable(*since));
                }
                Stage::Unwatchable(_) => *stage = Stage::Slow,
                Stage::Slow | Stage::Watched(_) => return Ok(mem::replace(&mut *stage, Stage::Taken)),
                Stage::Taken => {
                    check_cancelled(cancel)?;
                    let waited = self.returned.wait_timeout(stage, PATIENCE);
                    stage = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'kept> Turn<'kept> {
    fn of(kept: &'kept KeptStatus) -> Self {
        Self {
            kept,
            stage: Stage::Slow,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.kept.lock() = mem::replace(&mut self.stage, Stage::Taken);
        self.kept.returned.notify_one();
    }
}
