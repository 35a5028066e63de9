//! A leader that is ready before anybody wants it: starting one is a good part of starting a command.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::LeaderProgram;
use super::led::Outlet;

/// How long one is kept ready that nobody wants.
const KEPT_FOR: Duration = Duration::from_secs(30);

/// Starts leaders. While commands are run one after the other, the next one's is ready.
#[derive(Debug, Clone)]
pub(crate) struct Leaders(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: LeaderProgram,
    spare: Mutex<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    outlet: Option<Outlet>,
    /// Counts those that were made ready, so that each is only let go by its own time.
    number: u64,
}

impl Leaders {
    /// Leaders of this program. None is started yet.
    pub(crate) fn new(program: LeaderProgram) -> Self {
        Self(Arc::new(Inner {
            program,
            spare: Mutex::default(),
        }))
    }

    /// One that waits for its request.
    pub(crate) fn next(&self) -> io::Result<Outlet> {
        let spare = self.spare().outlet.take();
        match spare.and_then(Outlet::if_alive) {
            Some(outlet) => Ok(outlet),
            None => Outlet::open(self),
        }
    }

    pub(super) fn program(&self) -> &LeaderProgram {
        &self.0.program
    }

    /// Has one ready for the next command, for a while. Whoever calls this does not wait for it.
    pub(super) fn prepare(&self) {
        if self.spare().outlet.is_some() {
            return;
        }
        let leaders = self.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.clone().spawn_blocking(move || {
            // Without one, the next command takes a little longer.
            let Ok(outlet) = Outlet::open(&leaders) else {
                return;
            };
            let number = {
                let mut spare = leaders.spare();
                spare.outlet = Some(outlet);
                spare.number += 1;
                spare.number
            };
            runtime.spawn(async move {
                tokio::time::sleep(KEPT_FOR).await;
                let mut spare = leaders.spare();
                if spare.number == number {
                    spare.outlet = None;
                }
            });
        });
    }

    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.0.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
