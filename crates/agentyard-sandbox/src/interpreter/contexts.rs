//! Interpreters that are kept between calls, with all that code has left in them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::call::Holder;

/// How many there may be.
const MAX_CONTEXTS: usize = 8;

/// How long one is kept that nobody calls.
const IDLE: Duration = Duration::from_secs(15 * 60);

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The contexts of a server, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Contexts(Arc<Mutex<HashMap<String, Context>>>);

#[derive(Debug)]
struct Context {
    /// What it belongs to: the key of its interpreter.
    key: String,
    /// Nothing while a call runs in it.
    holder: Option<Holder>,
    used: Instant,
    /// Tells it from others of the same name.
    number: u64,
}

/// The place of a context, for as long as a call runs in it. Dropped without [`Seat::keep`], the context is gone.
#[derive(Debug)]
pub(super) struct Seat {
    contexts: Contexts,
    name: String,
    number: u64,
}

/// What there is under a name.
pub(super) enum Found {
    /// A context that waits for a call.
    Kept(Box<Holder>, Seat),
    /// Nothing so far.
    New(Seat),
    /// A context in which another call runs.
    Busy,
    /// Nothing, and there is no place for more.
    Full,
}

impl Contexts {
    /// The context of this name, which belongs to the interpreter with that key.
    pub(super) fn find(&self, name: &str, key: &str) -> Found {
        let mut contexts = self.lock();
        let now = Instant::now();
        if let Some(context) = contexts.get_mut(name) {
            let Some(holder) = context.holder.take() else {
                return Found::Busy;
            };
            if holder.child.lives() {
                context.used = now;
                // It was stopped when its last call ended.
                holder.child.first.signal(Signal::USR2);
                return Found::Kept(Box::new(holder), self.seat(name, context.number));
            }
            contexts.remove(name);
        }
        if contexts.len() >= MAX_CONTEXTS && !make_room(&mut contexts) {
            return Found::Full;
        }
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let context = Context {
            key: key.to_owned(),
            holder: None,
            used: now,
            number,
        };
        contexts.insert(name.to_owned(), context);
        Found::New(self.seat(name, number))
    }

    /// Ends those that belong to an interpreter.
    pub(super) fn forget(&self, beginning: &str) {
        self.lock()
            .retain(|_, context| !context.key.starts_with(beginning));
    }

    /// Ends those that nobody has called for long, and tells whether any are left.
    pub(super) fn sweep(&self) -> bool {
        let mut contexts = self.lock();
        let now = Instant::now();
        contexts.retain(|_, context| context.holder.is_none() || now < context.used + IDLE);
        !contexts.is_empty()
    }

    fn seat(&self, name: &str, number: u64) -> Seat {
        Seat {
            contexts: self.clone(),
            name: name.to_owned(),
            number,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Context>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the one that was not called for the longest time.
fn make_room(contexts: &mut HashMap<String, Context>) -> bool {
    let idle = contexts.iter().filter(|(_, context)| context.holder.is_some());
    let oldest = idle.min_by_key(|(_, context)| context.used);
    match oldest.map(|(name, _)| name.clone()) {
        Some(name) => contexts.remove(&name).is_some(),
        None => false,
    }
}

impl Seat {
    /// The call has ended and the context stays, stopped: it must not work on while nobody watches it. Where it was
    /// forgotten meanwhile, it ends.
    pub(super) fn keep(self, holder: Holder) {
        holder.child.first.signal(Signal::USR1);
        let mut contexts = self.contexts.lock();
        if let Some(context) = contexts
            .get_mut(&self.name)
            .filter(|context| context.number == self.number)
        {
            context.holder = Some(holder);
            context.used = Instant::now();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut contexts = self.contexts.lock();
        let is_empty = |context: &Context| context.number == self.number && context.holder.is_none();
        if contexts.get(&self.name).is_some_and(is_empty) {
            contexts.remove(&self.name);
        }
    }
}
