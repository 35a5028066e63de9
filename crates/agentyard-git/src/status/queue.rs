//! Work that makes more work, shared by a few threads.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Tasks waiting for a thread. Last in, first out: a tree is walked in depth, which keeps few directories
/// open.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

/// A task being worked on; finished when dropped, also by a panic.
pub(super) struct Running<'queue, T> {
    queue: &'queue Queue<T>,
}

struct State<T> {
    waiting: Vec<T>,
    running: usize,
    stopped: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(first: Vec<T>) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: first,
                running: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The next task; none once all are done, or after [`Queue::stop`].
    pub(super) fn next(&self) -> Option<(T, Running<'_, T>)> {
        let mut state = self.lock();
        loop {
            if state.stopped || (state.waiting.is_empty() && state.running == 0) {
                return None;
            }
            if let Some(task) = state.waiting.pop() {
                state.running += 1;
                return Some((task, Running { queue: self }));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many tasks wait.
    pub(super) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    pub(super) fn add(&self, tasks: Vec<T>) {
        if !tasks.is_empty() {
            self.lock().waiting.extend(tasks);
            self.changed.notify_all();
        }
    }

    /// Lets every thread finish after its current task.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.running -= 1;
        if state.running == 0 && state.waiting.is_empty() {
            self.queue.changed.notify_all();
        }
    }
}
