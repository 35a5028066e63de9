//! How much a sandbox keeps on disk. Only walking over its files tells, so that is not done too often.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore};

use super::Load;
use crate::watch::held_bytes;

/// Whose turn it is to walk again. Several would only take the disk and the processors from the sandboxes.
static WALKING: Semaphore = Semaphore::const_new(1);

/// Walks over one sandbox take one part in so many of the time, however long one takes.
const SHARE: u32 = 500;

/// The shortest time between two of them.
const SHORTEST: Duration = Duration::from_secs(1);

/// The longest.
const LONGEST: Duration = Duration::from_secs(600);

/// How many entries are looked at in one. Whoever has more keeps at least what was found in these.
const MOST: usize = 250_000;

/// Weighs some directories.
#[derive(Debug)]
pub(crate) struct Scales {
    directories: Vec<OwnedFd>,
    last: Mutex<Option<Weighed>>,
}

/// What was found, and until when nobody looks again.
#[derive(Debug, Clone, Copy)]
struct Weighed {
    bytes: u64,
    until: Instant,
}

impl Scales {
    pub(crate) fn new(directories: Vec<OwnedFd>) -> Arc<Self> {
        Arc::new(Self {
            directories,
            last: Mutex::default(),
        })
    }

    /// A load with what the directories hold.
    pub(crate) async fn added_to(self: Arc<Self>, load: Load) -> Load {
        Load {
            disk_bytes: self.weigh(Instant::now()).await,
            ..load
        }
    }

    /// What the directories hold, or held when it was last looked: the longer a walk takes, the longer that counts, and
    /// as long as somebody else walks.
    async fn weigh(self: Arc<Self>, now: Instant) -> Option<u64> {
        let mut last = self.last.lock().await;
        if let Some(known) = last.filter(|known| now < known.until) {
            return Some(known.bytes);
        }
        let turn = WALKING.try_acquire();
        if let (Err(_), Some(known)) = (&turn, *last) {
            return Some(known.bytes);
        }
        let began = Instant::now();
        let scales = Arc::clone(&self);
        let walk = tokio::task::spawn_blocking(move || held_bytes(&scales.directories, MOST));
        let bytes = walk.await.ok()?;
        *last = Some(Weighed {
            bytes,
            until: now + pause_after(began.elapsed()),
        });
        Some(bytes)
    }
}

/// How long nobody looks again after a walk that took so long.
fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(SHARE).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn the_longer_a_walk_takes_the_longer_nobody_walks_again() {
        assert_eq!(pause_after(Duration::ZERO), SHORTEST);
        assert_eq!(pause_after(Duration::from_millis(100)), Duration::from_secs(50));
        assert_eq!(pause_after(Duration::from_secs(1)), Duration::from_secs(500));
        assert_eq!(pause_after(Duration::MAX), LONGEST);
    }

    #[tokio::test]
    async fn it_is_not_looked_again_before_its_time_nor_while_somebody_else_looks() {
        let place = tempfile::tempdir().unwrap();
        let scales = Scales::new(vec![File::open(place.path()).unwrap().into()]);
        let began = Instant::now();
        let weigh = async |after: u32| {
            let weighed = Arc::clone(&scales).weigh(began + LONGEST * after).await;
            weighed.unwrap() >> 20
        };
        let write = |name: &str| fs::write(place.path().join(name), vec![1; 1 << 20]).unwrap();
        // Others may be looking at the same time: what nobody knows yet is found out in any case.
        assert_eq!(weigh(0).await, 0);
        write("first");
        assert_eq!(weigh(0).await, 0);
        let turn = WALKING.acquire().await.unwrap();
        assert_eq!(weigh(1).await, 0);
        drop(turn);
        assert_eq!(weigh(1).await, 1);
    }
}
