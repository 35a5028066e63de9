//! The interpreters that have started already: few, young, and only while they are used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::zygote::Zygote;
use crate::command::CommandError;

/// How many there may be.
const MAX_ZYGOTES: usize = 4;

/// How long one is used, and how long one is kept that is not.
const MAX_AGE: Duration = Duration::from_secs(600);
const IDLE: Duration = Duration::from_secs(60);

/// How long one that could not be started is not tried again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// The interpreters of a server.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<Slot>>);

/// One interpreter: the same for all calls with the same key and generation.
#[derive(Debug)]
struct Slot {
    key: String,
    generation: u64,
    cell: Arc<OnceCell<Result<Arc<Zygote>, String>>>,
    since: Instant,
    used: Instant,
}

impl Pool {
    /// The interpreter with this key, which is started when there is none. When several want it, it is started once.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn get(
        &self,
        key: &str,
        generation: u64,
        start: impl Future<Output = Result<Zygote, CommandError>>,
    ) -> Result<Arc<Zygote>, String> {
        let cell = self.cell(key, generation);
        let started = cell.get_or_init(|| async {
            match start.await {
                Ok(zygote) => Ok(Arc::new(zygote)),
                Err(error) => Err(told(&error)),
            }
        });
        started.await.clone()
    }

    fn cell(&self, key: &str, generation: u64) -> Arc<OnceCell<Result<Arc<Zygote>, String>>> {
        let mut slots = self.lock();
        let now = Instant::now();
        slots.retain(|slot| slot.is_useful(now) && (slot.key != key || slot.generation == generation));
        if let Some(slot) = slots.iter_mut().find(|slot| slot.key == key) {
            slot.used = now;
            return Arc::clone(&slot.cell);
        }
        if slots.len() >= MAX_ZYGOTES {
            let oldest = (0..slots.len()).min_by_key(|place| slots[*place].used);
            oldest.map(|place| slots.swap_remove(place));
        }
        let cell = Arc::new(OnceCell::new());
        slots.push(Slot {
            key: key.to_owned(),
            generation,
            cell: Arc::clone(&cell),
            since: now,
            used: now,
        });
        cell
    }

    /// Lets one go. It ends when the last call in it has.
    pub(super) fn forget(&self, beginning: &str) {
        self.lock().retain(|slot| !slot.key.starts_with(beginning));
    }

    /// Lets this very one go: it does not work any more.
    pub(super) fn give_up(&self, zygote: &Arc<Zygote>) {
        let is_it = |slot: &Slot| matches!(slot.cell.get(), Some(Ok(other)) if Arc::ptr_eq(other, zygote));
        self.lock().retain(|slot| !is_it(slot));
    }

    /// Lets those go that are old or not used, and tells whether any are left.
    pub(super) fn sweep(&self) -> bool {
        let mut slots = self.lock();
        let now = Instant::now();
        slots.retain(|slot| slot.is_useful(now) && now < slot.used + IDLE);
        !slots.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn is_useful(&self, now: Instant) -> bool {
        match self.cell.get() {
            Some(Err(_)) => now < self.since + RETRY_AFTER,
            Some(Ok(zygote)) => now < zygote.started + MAX_AGE,
            None => true,
        }
    }
}

fn told(error: &CommandError) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
