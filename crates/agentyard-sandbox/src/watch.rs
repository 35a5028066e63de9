//! Looking, from outside, at what the kernel does not limit: how much a command has written, and where there are no
//! control groups, how much memory it uses.

mod disk;
mod memory;

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::Pid;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::command::{EndCause, Limits, Usage};
use disk::Disk;
pub(crate) use disk::held_bytes;
pub(crate) use memory::{processor_time, tree, used_memory};

/// How often it is looked.
const INTERVAL: Duration = Duration::from_millis(50);

/// At every how many looks the disks are looked at.
const DISK_EVERY: u32 = 4;

/// At every how many looks it is found out how much was written, even though nothing tells of it: over a long time others
/// may have given back what was taken.
const MEASURED_EVERY: u32 = 1200;

/// Looks after one run.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: Limits,
    /// Whether memory is looked at: where no group counts it.
    counts_memory: bool,
    peak_memory_bytes: u64,
    disk: Disk,
    /// How much was written, as is just being found out.
    measuring: Option<JoinHandle<u64>>,
    looks: u32,
    clock: Interval,
}

impl Watch {
    /// For a run that may write to these directories.
    pub(crate) fn new(limits: Limits, writable: Vec<OwnedFd>, counts_memory: bool) -> Self {
        let mut clock = interval_at(Instant::now() + INTERVAL, INTERVAL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            limits,
            counts_memory,
            peak_memory_bytes: 0,
            disk: Disk::new(writable),
            measuring: None,
            looks: 0,
            clock,
        }
    }

    /// Resolves when the processes below one, and itself, have taken too much. Nothing is lost when this is dropped
    /// halfway.
    pub(crate) async fn exceeded(&mut self, root: Pid) -> EndCause {
        loop {
            if let Some(measuring) = &mut self.measuring {
                let written = measuring.await.unwrap_or_default();
                self.measuring = None;
                if written > self.limits.disk_bytes {
                    return EndCause::DiskLimit;
                }
            }
            self.clock.tick().await;
            self.looks = self.looks.wrapping_add(1);
            if self.counts_memory && self.takes_too_much_memory(root) {
                return EndCause::MemoryLimit;
            }
            let is_due = self.looks.is_multiple_of(MEASURED_EVERY);
            let is_likely = || self.disk.may_have_taken(self.limits.disk_bytes / 2);
            if is_due || (self.looks.is_multiple_of(DISK_EVERY) && is_likely()) {
                self.measuring = self.disk.measure(root);
            }
        }
    }

    /// What was seen.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            peak_memory_bytes: Some(self.peak_memory_bytes).filter(|bytes| *bytes > 0),
            cpu: None,
        }
    }

    fn takes_too_much_memory(&mut self, root: Pid) -> bool {
        let used = memory::used(root, self.limits.memory_bytes);
        self.peak_memory_bytes = self.peak_memory_bytes.max(used);
        used > self.limits.memory_bytes
    }
}
