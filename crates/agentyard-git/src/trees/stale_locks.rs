//! Locks in a mirror that a process left which was killed.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::error::check_cancelled;
use crate::program::{Git, Trust};
use crate::{Error, Repository, Work};

/// How long somebody may hold a lock, or a dead one's lock takes to be told from a living one's.
const PATIENCE: Duration = Duration::from_secs(10);

const INTERVAL: Duration = Duration::from_millis(100);

/// Does something in a mirror, again while it is locked. Locks that nobody holds any more are removed meanwhile.
pub(super) fn past_stale_locks<T>(
    git: &Git,
    mirror: &Repository,
    cancel: &AtomicBool,
    mut attempt: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(Error::Locked { .. }) if Instant::now() < deadline => {}
            outcome => return outcome,
        }
        check_cancelled(cancel)?;
        let work = Work::new(git, mirror, Trust::Untrusted, cancel, &|_| {});
        if !work.stale_locks(true)?.iter().any(|lock| lock.removed) {
            std::thread::sleep(INTERVAL);
        }
    }
}
