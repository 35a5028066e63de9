//! What this process has in memory of a sandbox.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentyard_model::{Sandbox as Row, SandboxId, Timestamp};
use agentyard_sandbox::Standing;
use tokio::task::JoinHandle;

use super::metrics::Sampled;
use super::yards::Yard;
use crate::masking::Mask;

/// A sandbox whose files are in one of our yards.
pub(super) struct Kept {
    pub(super) id: SandboxId,
    pub(super) yard: Arc<Yard>,
    /// Whoever changes what the sandbox is has this.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    phase: Mutex<Phase>,
    ends_at: AtomicI64,
    /// Set while somebody is about to end or pause it because its time is up.
    pub(super) is_leaving: AtomicBool,
    /// Hides what of its environment looks secret.
    mask: Mutex<Mask>,
    pub(super) samples: Mutex<VecDeque<Sampled>>,
    /// Waits for it to end by itself.
    watching: Mutex<Option<EndWithThis>>,
}

/// What is there of a sandbox beside its files.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Nothing.
    Absent,
    /// It runs.
    Running(Standing),
    /// Everybody in it stands still.
    Frozen(Standing),
}

impl Kept {
    pub(super) fn new(row: &Row, yard: Arc<Yard>) -> Self {
        Self {
            id: row.id,
            yard,
            turn: Arc::default(),
            phase: Mutex::new(Phase::Absent),
            ends_at: AtomicI64::new(row.ends_at.as_microseconds()),
            is_leaving: AtomicBool::new(false),
            mask: Mutex::new(Mask::nothing()),
            samples: Mutex::default(),
            watching: Mutex::default(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what is there from now on, and gives back what was.
    pub(super) fn set_phase(&self, phase: Phase) -> Phase {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, phase)
    }

    /// The sandbox, while it runs.
    pub(super) fn running(&self) -> Option<Standing> {
        match self.phase() {
            Phase::Running(standing) => Some(standing),
            Phase::Frozen(_) | Phase::Absent => None,
        }
    }

    pub(super) fn ends_at(&self) -> Timestamp {
        Timestamp::from_microseconds(self.ends_at.load(Ordering::Relaxed))
    }

    pub(super) fn set_ends_at(&self, at: Timestamp) {
        self.ends_at.store(at.as_microseconds(), Ordering::Relaxed);
    }

    pub(super) fn mask(&self) -> Mask {
        self.mask.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_mask(&self, mask: Mask) {
        *self.mask.lock().unwrap_or_else(PoisonError::into_inner) = mask;
    }

    /// Lets a task wait for the end of what runs; none, when nobody is to wait any more.
    pub(super) fn watch(&self, task: Option<JoinHandle<()>>) {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        *watching = task.map(EndWithThis);
    }
}

/// A task that ends when this is dropped.
pub(super) struct EndWithThis(pub(super) JoinHandle<()>);

impl Drop for EndWithThis {
    fn drop(&mut self) {
        self.0.abort();
    }
}
