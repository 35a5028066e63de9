//! The kernel's word on which directories changed (inotify).

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::descriptor::{is_local, magic_path};

/// How many directories may be watched at a time, in all repositories together.
///
/// The kernel has a limit of its own, for everything that a user runs. Who meets it gives up what it has, so
/// that editors and builds are not left without.
#[derive(Debug)]
pub(crate) struct WatchBudget {
    limit: usize,
    used: AtomicUsize,
}

/// The directories of one repository that are watched.
pub(super) struct Watch {
    queue: OwnedFd,
    budget: Arc<WatchBudget>,
    used: AtomicUsize,
    /// A directory could not be watched. What was seen is right; that nothing changed can no longer be said.
    failed: AtomicBool,
}

/// The kernel's name for a watched directory.
pub(super) type WatchId = i32;

/// Everything that can change a status. `CLOSE_WRITE` is what tells of a file that was written through a
/// mapping: it comes when the mapping ends.
const EVENTS: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR);

/// More than the kernel queues by default. Who changes files faster than we can read of it is not waited for.
const MAX_EVENTS: usize = 65_536;

const EVENT_BUFFER: usize = 16 * 1024;

impl WatchBudget {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: AtomicUsize::new(0),
        }
    }

    fn take(&self) -> bool {
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < self.limit).then_some(used + 1)
            });
        taken.is_ok()
    }
}

impl Watch {
    pub(super) fn new(budget: Arc<WatchBudget>) -> Result<Self, Errno> {
        Ok(Self {
            queue: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?,
            budget,
            used: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        })
    }

    /// Watches a directory from now on: what is read of it after this call is vouched for.
    pub(super) fn add(&self, directory: impl AsFd) -> Option<WatchId> {
        let added = self.try_add(directory);
        if added.is_none() {
            self.fail();
        }
        added
    }

    /// Says that something cannot be watched.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Ends a watch. It may have ended by itself, with its directory.
    pub(super) fn remove(&self, watch: WatchId) {
        _ = inotify::remove_watch(&self.queue, watch);
    }

    /// Says how many directories are watched, those not counted that will be added again.
    pub(super) fn settle(&self, count: usize) {
        let counted = self.used.swap(count, Ordering::Relaxed);
        self.budget.used.fetch_add(count, Ordering::Relaxed);
        self.budget.used.fetch_sub(counted, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Hands over what happened since the last time. Fails when that cannot be said.
    pub(super) fn drain(&self, mut each: impl FnMut(WatchId, ReadFlags, Option<&CStr>)) -> Result<(), Errno> {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        for _ in 0..MAX_EVENTS {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    return Err(Errno::OVERFLOW);
                }
                Ok(event) => each(event.wd(), event.events(), event.file_name()),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::OVERFLOW)
    }

    fn try_add(&self, directory: impl AsFd) -> Option<WatchId> {
        if self.has_failed() || !is_local(&directory) || !self.budget.take() {
            return None;
        }
        self.used.fetch_add(1, Ordering::Relaxed);
        // The path leads through the descriptor, so it is the directory that was opened, whatever its name.
        inotify::add_watch(&self.queue, magic_path(directory), EVENTS).ok()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.settle(0);
    }
}
