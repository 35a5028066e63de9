//! A process of ours in a sandbox, which makes the same walls anew for each of its children.

use rustix::process::Pid;

use crate::command::{CommandError, Event};
use crate::leader::Led;

/// How much is kept of its last words.
const MAX_WORDS: usize = 4096;

/// Such a process. Dropping this ends it, with all its children.
#[derive(Debug)]
pub(crate) struct Keeper {
    led: Led,
    first: Pid,
}

impl Keeper {
    /// Waits until its sandbox is there.
    pub(super) async fn new(mut led: Led) -> Result<Self, CommandError> {
        let first = led.sandboxed().await?;
        Ok(Self { led, first })
    }

    /// The first process of its sandbox, as this machine numbers it.
    pub(crate) fn first_process(&self) -> Pid {
        self.first
    }

    /// Waits until it has ended, and tells what it said last. It is to be waited for as long as it says anything, or it
    /// may have to wait with that.
    pub(crate) async fn ended(&mut self) -> String {
        let mut words = Vec::new();
        loop {
            match self.led.next_event().await {
                Ok(Event::Output(_, bytes)) => {
                    words.extend(bytes);
                    words.drain(..words.len().saturating_sub(MAX_WORDS));
                }
                Ok(Event::Ended(_)) => return String::from_utf8_lossy(&words).into_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.led.kill();
    }
}
