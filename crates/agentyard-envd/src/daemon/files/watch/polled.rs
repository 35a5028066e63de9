//! Watchers who keep what changed until they are asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Place, Watch};
use crate::connect::{Code, Fault};
use crate::filesystem::Change;

/// How many changes one keeps.
const MOST_CHANGES: usize = 10_000;

/// After what time a watcher that nobody asks is taken for forgotten, when others need its place.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

/// Those watchers.
#[derive(Debug)]
pub(in crate::daemon::files) struct Polled(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    watchers: BTreeMap<String, Watcher>,
    /// Names are not given twice, also not to one who knew a daemon that was here before.
    born: u128,
    given: u64,
}

/// One of them, who stops when this is dropped.
#[derive(Debug)]
struct Watcher {
    kept: Arc<Mutex<Kept>>,
    task: AbortHandle,
    /// When it was asked last.
    asked: Instant,
    _place: Place,
}

/// What is kept.
#[derive(Debug, Default)]
struct Kept {
    changes: Vec<Change>,
    /// Why there is nothing more to come.
    failed: Option<Fault>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Polled {
    pub(super) fn new() -> Self {
        let born = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(Mutex::new(Inner {
            watchers: BTreeMap::new(),
            born: born.as_nanos(),
            given: 0,
        }))
    }

    /// Keeps what changes, under the name that is returned.
    pub(in crate::daemon::files) fn add(&self, watch: Watch, place: Place) -> String {
        let kept = Arc::<Mutex<Kept>>::default();
        let task = tokio::spawn(keep(watch, Arc::clone(&kept))).abort_handle();
        let mut inner = lock(&self.0);
        inner.given += 1;
        let name = format!("w{:x}-{}", inner.born, inner.given);
        let watcher = Watcher {
            kept,
            task,
            asked: Instant::now(),
            _place: place,
        };
        inner.watchers.insert(name.clone(), watcher);
        name
    }

    /// What changed since this was asked last.
    pub(in crate::daemon::files) fn changes(&self, name: &str) -> Result<Vec<Change>, Fault> {
        let mut inner = lock(&self.0);
        let watcher = inner.watchers.get_mut(name).ok_or_else(unknown)?;
        watcher.asked = Instant::now();
        let mut kept = lock(&watcher.kept);
        match &kept.failed {
            Some(fault) => Err(fault.clone()),
            None => Ok(std::mem::take(&mut kept.changes)),
        }
    }

    /// Removes those whom nobody has asked for long: their client is likely gone without a word.
    pub(super) fn remove_forgotten(&self) {
        let watchers = &mut lock(&self.0).watchers;
        watchers.retain(|_, watcher| watcher.asked.elapsed() < FORGOTTEN);
    }

    /// Watches no longer.
    pub(in crate::daemon::files) fn remove(&self, name: &str) -> Result<(), Fault> {
        let removed = lock(&self.0).watchers.remove(name);
        removed.map(drop).ok_or_else(unknown)
    }
}

async fn keep(mut watch: Watch, kept: Arc<Mutex<Kept>>) {
    loop {
        let changes = watch.next().await;
        if !lock(&kept).add(changes) {
            return;
        }
    }
}

impl Kept {
    /// Adds what changed, and tells whether there is more to come.
    fn add(&mut self, changes: Result<Vec<Change>, Fault>) -> bool {
        let fault = match changes {
            Ok(changes) if self.changes.len() + changes.len() <= MOST_CHANGES => {
                self.changes.extend(changes);
                return true;
            }
            Ok(_) => Fault::new(
                Code::ResourceExhausted,
                format!(
                    "more than {MOST_CHANGES} changes came since this watcher was asked last, so it has ended: remove \
                     it, list the directory and watch it anew"
                ),
            ),
            Err(fault) => fault,
        };
        self.changes = Vec::new();
        self.failed = Some(fault);
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done where a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown() -> Fault {
    let message = "there is no watcher of this name; it was removed, or the sandbox was started anew";
    Fault::new(Code::NotFound, message)
}

#[cfg(test)]
mod tests {
    use super::super::super::work::Work;
    use super::super::{MOST, Watches};
    use super::*;
    use crate::filesystem::WatchRequest;

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_watcher_makes_room_when_it_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let (watches, work) = (Watches::new(), Work::new());
        let begin = async || {
            let path = directory.path().to_owned();
            let (watch, place) = watches.begin(&work, path, &WatchRequest::default()).await?;
            Ok::<_, Fault>(watches.polled.add(watch, place))
        };
        let mut names = Vec::new();
        for _ in 0..MOST {
            names.push(begin().await.unwrap());
        }
        tokio::time::advance(FORGOTTEN / 2).await;
        assert_eq!(begin().await.unwrap_err().code, Code::ResourceExhausted);
        for name in &names[1..] {
            watches.polled.changes(name).unwrap();
        }
        tokio::time::advance(FORGOTTEN / 2).await;
        begin().await.unwrap();
        assert_eq!(
            watches.polled.changes(&names[0]).unwrap_err().code,
            Code::NotFound
        );
        watches.polled.changes(&names[1]).unwrap();
    }

    #[test]
    fn too_much_to_keep_ends_a_watcher() {
        let mut kept = Kept::default();
        assert!(kept.add(Ok(vec![Change::default(); MOST_CHANGES])));
        assert!(kept.failed.is_none());
        assert!(!kept.add(Ok(vec![Change::default()])));
        assert_eq!(kept.failed.unwrap().code, Code::ResourceExhausted);
        assert!(kept.changes.is_empty());
    }
}
