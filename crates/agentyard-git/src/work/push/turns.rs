//! Pushes of one process to the same branch of the same remote, one after another: side by side all but one of them
//! would be rejected, and have to fetch and rebase for the next attempt, where again all but one are.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::Error;
use crate::error::check_cancelled;

/// How often it is looked whether anybody still waits for the push.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Where something is being pushed to: a remote, and a reference there.
type Target = (String, String);

#[derive(Debug, Default)]
pub(crate) struct PushTurns {
    taken: Mutex<HashSet<Target>>,
    freed: Condvar,
}

/// The turn to push, until it is dropped.
#[derive(Debug)]
pub(super) struct PushTurn<'a> {
    turns: &'a PushTurns,
    target: Target,
}

impl PushTurns {
    /// Waits until nobody else of this process pushes there.
    pub(super) fn take(
        &self,
        url: &str,
        reference: String,
        cancel: &AtomicBool,
    ) -> Result<PushTurn<'_>, Error> {
        let target = (url.to_owned(), reference);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while !taken.insert(target.clone()) {
            let waited = self.freed.wait_timeout(taken, CANCEL_INTERVAL);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            check_cancelled(cancel)?;
        }
        Ok(PushTurn { turns: self, target })
    }
}

impl Drop for PushTurn<'_> {
    fn drop(&mut self) {
        let mut taken = self.turns.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.target);
        self.turns.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_pushes_to_a_branch_at_a_time_and_others_elsewhere() {
        let (turns, never, pushing) = (PushTurns::default(), AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _turn = turns
                        .take("/srv/a.git", "refs/heads/a".to_owned(), &never)
                        .unwrap();
                    assert_eq!(pushing.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    pushing.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        let _first = turns
            .take("/srv/a.git", "refs/heads/a".to_owned(), &never)
            .unwrap();
        let _second = turns
            .take("/srv/a.git", "refs/heads/b".to_owned(), &never)
            .unwrap();
        let _third = turns
            .take("/srv/b.git", "refs/heads/a".to_owned(), &never)
            .unwrap();
        let left = AtomicBool::new(true);
        let waited = turns.take("/srv/a.git", "refs/heads/a".to_owned(), &left);
        assert!(matches!(waited, Err(Error::Cancelled)));
    }
}
