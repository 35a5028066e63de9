//! Sandboxes that wait for use.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::PoolSettings;

/// Those that wait. Who takes one finds one that lives; who fills it asks how many are wanted.
#[derive(Debug)]
pub(super) struct Pool<S> {
    settings: Option<PoolSettings>,
    has_ended: fn(&S) -> bool,
    ready: Mutex<VecDeque<(Instant, S)>>,
    /// One was taken.
    pub(super) taken: Arc<Notify>,
}

impl<S> Pool<S> {
    pub(super) fn new(settings: Option<PoolSettings>, has_ended: fn(&S) -> bool) -> Self {
        Self {
            settings,
            has_ended,
            ready: Mutex::default(),
            taken: Arc::default(),
        }
    }

    /// The one that waits longest.
    pub(super) fn take(&self) -> Option<S> {
        drop(self.weeded(Instant::now()));
        let taken = self.ready().pop_front().map(|(_, sandbox)| sandbox);
        self.taken.notify_one();
        taken
    }

    pub(super) fn put(&self, sandbox: S) {
        self.ready().push_back((Instant::now(), sandbox));
    }

    /// How many more are wanted, where so many are in use.
    pub(super) fn wanted(&self, in_use: usize) -> usize {
        let Some(settings) = self.settings else { return 0 };
        let ready = self.ready().len();
        let room = settings.max.saturating_sub(in_use + ready);
        settings.min.saturating_sub(ready).min(room)
    }

    /// Takes those out that are too old, or have ended.
    pub(super) fn weeded(&self, now: Instant) -> Vec<S> {
        let Some(settings) = self.settings else {
            return Vec::new();
        };
        let mut ready = self.ready();
        let (good, bad): (Vec<_>, Vec<_>) = ready.drain(..).partition(|(since, sandbox)| {
            now.saturating_duration_since(*since) < settings.time_to_live && !(self.has_ended)(sandbox)
        });
        ready.extend(good);
        bad.into_iter().map(|(_, sandbox)| sandbox).collect()
    }

    /// Takes them all out.
    pub(super) fn emptied(&self) -> Vec<S> {
        self.ready().drain(..).map(|(_, sandbox)| sandbox).collect()
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<(Instant, S)>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Ended are those with an odd number.
    fn pool(min: usize, max: usize) -> Pool<u32> {
        let settings = PoolSettings {
            min,
            max,
            time_to_live: Duration::from_secs(60),
        };
        Pool::new(Some(settings), |number| number % 2 == 1)
    }

    #[test]
    fn as_many_wait_as_are_wanted_and_never_more_than_there_may_be() {
        let pool = pool(3, 5);
        assert_eq!(pool.wanted(0), 3);
        assert_eq!(pool.wanted(4), 1);
        assert_eq!((pool.wanted(5), pool.wanted(9)), (0, 0));
        pool.put(2);
        pool.put(4);
        assert_eq!((pool.wanted(0), pool.wanted(2), pool.wanted(3)), (1, 1, 0));
        assert_eq!(Pool::<u32>::new(None, |_| false).wanted(0), 0);
    }

    #[test]
    fn who_takes_one_gets_the_oldest_that_lives() {
        let pool = pool(3, 5);
        for number in [1, 2, 3, 4] {
            pool.put(number);
        }
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(2), Some(4), None));
    }

    #[test]
    fn what_is_too_old_is_taken_out() {
        let pool = pool(3, 5);
        pool.put(2);
        assert!(pool.weeded(Instant::now()).is_empty());
        assert_eq!(pool.weeded(Instant::now() + Duration::from_secs(61)), [2]);
        assert_eq!((pool.take(), pool.emptied().len()), (None, 0));
    }
}
