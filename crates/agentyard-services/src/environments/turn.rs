//! Whose turn it is in an environment: many may use it at once, and one alone may change it.
//!
//! Two lock files decide, among all processes that share the data directory. Everybody has to pass a gate. Whoever wants to
//! use the environment takes a share in its lock and leaves the gate at once; whoever wants to change it stays in the gate
//! until all that is done. So nobody new comes in meanwhile, and those who are in will end. Within this process, those who
//! want to pass stand in a queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use agentyard_git::{self as git, LockAttempt, LockFile, LockFiles, LockHolder};
use agentyard_model::Clock;
use tokio::sync::OwnedMutexGuard;

use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::progress::Progress;

/// How often a lock of another process is asked for, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(64);

/// How long somebody waits before being told to come back.
const LONGEST_WAIT: Duration = Duration::from_secs(1800);

/// Whose turn it is in which environment.
pub(super) struct EnvironmentTurns {
    locks: LockFiles,
    clock: Clock,
    queues: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// Who wants an environment, and for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'call> {
    /// The environment's key.
    pub(super) key: &'call str,
    pub(super) operation: &'static str,
    pub(super) by: &'call str,
    pub(super) progress: &'call Progress,
}

/// The right to use an environment, until it is dropped. Others may use it too.
#[derive(Debug)]
pub(super) struct Use {
    _lock: LockFile,
}

/// The right to change an environment, until it is dropped. Nobody uses it meanwhile.
#[derive(Debug)]
pub(super) struct Change {
    _lock: LockFile,
    _gate: Gate,
}

/// The gate of an environment, as long as somebody stands in it.
#[derive(Debug)]
struct Gate {
    _file: LockFile,
    _first_in_queue: OwnedMutexGuard<()>,
}

impl EnvironmentTurns {
    pub(super) fn new(locks: LockFiles, clock: Clock) -> Self {
        Self {
            locks,
            clock,
            queues: Mutex::default(),
        }
    }

    /// Waits until nobody changes the environment, or waits to.
    pub(super) async fn to_use(&self, wanted: Wanted<'_>) -> Result<Use> {
        let _gate = self.pass_gate(wanted).await?;
        let share = || {
            let name = lock_name(wanted.key);
            self.locks
                .try_share(&name, wanted.operation, wanted.by, self.clock.now())
        };
        Ok(Use {
            _lock: self.held(wanted, share).await?,
        })
    }

    /// Waits until nobody uses or changes the environment, and keeps others from beginning to.
    pub(super) async fn to_change(&self, wanted: Wanted<'_>) -> Result<Change> {
        let gate = self.pass_gate(wanted).await?;
        let lock = self.held(wanted, || self.lock(wanted)).await?;
        Ok(Change {
            _lock: lock,
            _gate: gate,
        })
    }

    /// The right to change an environment that nobody uses; none when somebody does.
    pub(super) fn to_change_if_free(&self, key: &str, operation: &'static str) -> Option<Change> {
        let progress = Progress::ignored();
        let wanted = Wanted {
            key,
            operation,
            by: "agentyard",
            progress: &progress,
        };
        let first_in_queue = self.queue(key).try_lock_owned().ok()?;
        let LockAttempt::Held(file) = self.gate_file(wanted).ok()? else {
            return None;
        };
        let LockAttempt::Held(lock) = self.lock(wanted).ok()? else {
            return None;
        };
        Some(Change {
            _lock: lock,
            _gate: Gate {
                _file: file,
                _first_in_queue: first_in_queue,
            },
        })
    }

    async fn pass_gate(&self, wanted: Wanted<'_>) -> Result<Gate> {
        let mut queueing = Box::pin(self.queue(wanted.key).lock_owned());
        let first_in_queue = match tokio::time::timeout(LAST_PAUSE, &mut queueing).await {
            Ok(first) => first,
            Err(_) => {
                wanted.tell("a change of the Python environment to end");
                queueing.await
            }
        };
        Ok(Gate {
            _file: self.held(wanted, || self.gate_file(wanted)).await?,
            _first_in_queue: first_in_queue,
        })
    }

    fn gate_file(&self, wanted: Wanted<'_>) -> Result<LockAttempt, git::Error> {
        let name = format!("{}.gate", lock_name(wanted.key));
        self.locks
            .try_take(&name, wanted.operation, wanted.by, self.clock.now())
    }

    fn lock(&self, wanted: Wanted<'_>) -> Result<LockAttempt, git::Error> {
        let name = lock_name(wanted.key);
        self.locks
            .try_take(&name, wanted.operation, wanted.by, self.clock.now())
    }

    /// Asks for a lock until it is there, and tells for whom it waits.
    async fn held(
        &self,
        wanted: Wanted<'_>,
        attempt: impl Fn() -> Result<LockAttempt, git::Error>,
    ) -> Result<LockFile> {
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt().map_err(from_git)? {
                LockAttempt::Held(lock) => return Ok(lock),
                LockAttempt::Taken(holder) if started.elapsed() > LONGEST_WAIT => {
                    let message = format!("the Python environment is taken: {}", described(&holder));
                    return Err(
                        Error::new(ErrorKind::Unavailable, message).hint("try again when that has ended")
                    );
                }
                // The gate is held for moments by whoever only passes.
                LockAttempt::Taken(holder) if pause == LAST_PAUSE => wanted.tell(&described(&holder)),
                LockAttempt::Taken(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    fn queue(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(key).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(key.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

impl Wanted<'_> {
    fn tell(&self, what: &str) {
        self.progress.report(0, None, format!("waiting for {what}"));
    }
}

/// Keys are paths below the directory of environments, of our own making.
fn lock_name(key: &str) -> String {
    format!("environment.{}", key.replace('/', "."))
}

fn described(holder: &LockHolder) -> String {
    let doing = match holder.doing.as_str() {
        "" => "another process",
        doing => doing,
    };
    let by = match holder.by.as_str() {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let since = holder
        .since
        .map(|since| format!(" since {since}"))
        .unwrap_or_default();
    format!("{doing}{by} (process {}{since})", holder.process)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(directory: &std::path::Path) -> EnvironmentTurns {
        EnvironmentTurns::new(LockFiles::new(directory.to_owned()), Clock::System)
    }

    fn wanted(progress: &Progress) -> Wanted<'_> {
        Wanted {
            key: "a/venv",
            operation: "install_dependencies",
            by: "ada",
            progress,
        }
    }

    /// Whether something is not done although it had its chance.
    async fn is_waiting<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
        tokio::time::timeout(Duration::from_millis(30), future)
            .await
            .is_err()
    }

    #[tokio::test]
    async fn many_use_it_and_one_changes_it_also_among_processes() {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (turns(directory.path()), turns(directory.path()));
        for (ours, theirs) in [(&here, &here), (&here, &there)] {
            let progress = Progress::ignored();
            let first = ours.to_use(wanted(&progress)).await.unwrap();
            let second = theirs.to_use(wanted(&progress)).await.unwrap();
            assert!(theirs.to_change_if_free("a/venv", "tidy").is_none());
            let mut change = Box::pin(theirs.to_change(wanted(&progress)));
            assert!(is_waiting(&mut change).await);
            // Nobody comes in while somebody waits to change it.
            let mut third = Box::pin(ours.to_use(wanted(&progress)));
            assert!(is_waiting(&mut third).await);
            drop((first, second));
            let changing = change.await.unwrap();
            assert!(is_waiting(&mut third).await);
            drop(changing);
            drop(third.await.unwrap());
            assert!(ours.to_change_if_free("a/venv", "tidy").is_some());
        }
    }

    #[tokio::test]
    async fn who_waits_is_told_for_whom() {
        let directory = tempfile::tempdir().unwrap();
        let (here, there) = (turns(directory.path()), turns(directory.path()));
        let ignored = Progress::ignored();
        let _change = here.to_change(wanted(&ignored)).await.unwrap();
        let (progress, mut steps) = Progress::watched();
        let waiting = there.to_use(wanted(&progress));
        tokio::select! {
            _ = waiting => panic!("it is taken"),
            changed = steps.changed() => changed.unwrap(),
        }
        let message = steps.borrow().message.clone();
        assert!(
            message.starts_with("waiting for install_dependencies by ada (process "),
            "{message}"
        );
    }
}
