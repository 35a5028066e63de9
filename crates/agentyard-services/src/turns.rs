//! Whose turn it is: how many calls of a kind run at once, and who may change which tree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use agentyard_git as git;
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tracing::Instrument as _;

use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::progress::Progress;

/// How many calls of a kind run at once, and how long each of them may take.
pub(crate) struct Turnstile {
    turns: Semaphore,
    timeout: Duration,
    /// The setting that says how long.
    setting: &'static str,
}

impl Turnstile {
    pub(crate) fn new(at_once: usize, timeout: Duration, setting: &'static str) -> Self {
        Self {
            turns: Semaphore::new(at_once),
            timeout,
            setting,
        }
    }

    /// Runs work that blocks on a thread for such work, and stops it when the caller goes away or the time is up.
    pub(crate) async fn pass<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let _turn = self
            .turns
            .acquire()
            .await
            .map_err(|error| Error::internal("waiting for a turn to read", error))?;
        let cancel = StopWhenDropped::default();
        let flag = cancel.0.clone();
        let span = tracing::Span::current();
        let mut working = tokio::task::spawn_blocking(move || span.in_scope(|| work(&flag)));
        let Ok(worked) = tokio::time::timeout(self.timeout, &mut working).await else {
            // Whoever cleans up after the work should not meet it there.
            drop(cancel);
            let _ = tokio::time::timeout(TO_STOP, working).await;
            let seconds = self.timeout.as_secs_f64();
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("the work on the repository took longer than {seconds} s"),
            )
            .hint(format!("ask for less, or raise `{}`", self.setting)));
        };
        worked
            .map_err(|error| Error::internal("working on the repository", error))?
            .map_err(from_git)
    }
}

/// How long work may take to stop that was told to.
const TO_STOP: Duration = Duration::from_secs(2);

/// Brings to its end what must not be left half done, also when whoever asked for it goes away meanwhile.
pub(crate) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work.in_current_span())
        .await
        .map_err(|error| Error::internal("working on a tree", error))?
}

/// Tells the thread that nobody waits for its answer any more.
#[derive(Default)]
pub(crate) struct StopWhenDropped(pub(crate) Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Who may change which tree now, within this process. Two trees of one repository are changed side by side: what
/// they share, git itself locks.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<PathBuf, Weak<Queue>>>);

/// Those who want to change one tree.
#[derive(Default)]
struct Queue {
    turn: Arc<tokio::sync::Mutex<()>>,
    /// What the one whose turn it is does.
    doing: Mutex<&'static str>,
}

/// The right to change a tree, until it is dropped.
pub(crate) struct Turn {
    _guard: OwnedMutexGuard<()>,
    /// Others find the queue as long as somebody is in it.
    _queue: Arc<Queue>,
}

impl Turns {
    /// The turn to change a tree, unless somebody has it.
    pub(crate) fn try_take(&self, tree: &Path, operation: &'static str) -> Option<Turn> {
        let queue = self.of(tree);
        let guard = queue.turn.clone().try_lock_owned().ok()?;
        Some(Turn::new(queue, guard, operation))
    }

    /// Waits until nobody else in this process changes the tree, and tells what it waits for.
    pub(crate) async fn take(&self, tree: &Path, operation: &'static str, progress: &Progress) -> Turn {
        let queue = self.of(tree);
        let guard = match queue.turn.clone().try_lock_owned() {
            Ok(guard) => guard,
            Err(_) => {
                let doing = *queue.doing.lock().unwrap_or_else(PoisonError::into_inner);
                progress.report(
                    0,
                    None,
                    format!("waiting for {doing} in this working tree to end"),
                );
                queue.turn.clone().lock_owned().await
            }
        };
        Turn::new(queue, guard, operation)
    }

    fn of(&self, tree: &Path) -> Arc<Queue> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(tree).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(tree.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

impl Turn {
    fn new(queue: Arc<Queue>, guard: OwnedMutexGuard<()>, operation: &'static str) -> Self {
        *queue.doing.lock().unwrap_or_else(PoisonError::into_inner) = operation;
        Self {
            _guard: guard,
            _queue: queue,
        }
    }
}
