//! Locks that hold across processes. The kernel frees those of a process that died.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use super::Trees;
use super::layout::{failed, make_directory};
use crate::Error;
use crate::error::check_cancelled;

/// How often a lock is tried that somebody else holds.
const INTERVAL: Duration = Duration::from_millis(5);

/// A lock, held until it is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Trees {
    /// Waits for the lock of this name, `locks/<name>`.
    pub(super) fn lock(&self, name: &str, cancel: &AtomicBool) -> Result<Lock, Error> {
        let directory = self.locks_path();
        make_directory(&directory)?;
        let path = directory.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600)).map_err(failed("opened", &path))?;
        hold(&file, &path, cancel)?;
        Ok(Lock {
            _file: File::from(file),
        })
    }

    /// The lock under which a mirror is made or removed, and fetched into.
    pub(super) fn lock_mirror(&self, key: &str, cancel: &AtomicBool) -> Result<Lock, Error> {
        self.lock(&format!("mirror-{key}"), cancel)
    }

    /// The lock under which working trees are noted in a mirror and forgotten: held for milliseconds.
    pub(super) fn lock_registrations(&self, key: &str, cancel: &AtomicBool) -> Result<Lock, Error> {
        self.lock(&format!("views-{key}"), cancel)
    }
}

/// Waits until nobody else holds the lock of an open file or directory; it is then held until that is closed.
pub(super) fn hold(file: impl AsFd, path: &Path, cancel: &AtomicBool) -> Result<(), Error> {
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(errno) => return Err(failed("locked", path)(errno)),
        }
        check_cancelled(cancel)?;
        std::thread::sleep(INTERVAL);
    }
}
