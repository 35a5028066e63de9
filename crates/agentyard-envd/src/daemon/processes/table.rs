//! The processes that there are, and those that were there a moment ago.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::process::Process;
use crate::connect::{Code, Fault};
use crate::process::{End, Info, Selector};

/// How many processes can be looked after at the same time.
const MOST: usize = 1000;

/// For how long it can be asked how a process ended.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Of how many that can be asked.
const MOST_REMEMBERED: usize = 256;

/// The processes that were started.
#[derive(Debug)]
pub(in crate::daemon) struct Processes {
    places: Arc<Semaphore>,
    table: Mutex<Table>,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST)),
            table: Mutex::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    /// In the order in which they were started.
    running: Vec<Arc<Process>>,
    /// In the order in which they ended.
    ended: VecDeque<Ended>,
}

#[derive(Debug)]
struct Ended {
    at: Instant,
    pid: u32,
    tag: Option<String>,
    end: End,
}

/// What a selector leads to.
#[derive(Debug)]
pub(super) enum Found {
    Running(Arc<Process>),
    Ended { pid: u32, end: End },
}

impl Processes {
    /// Room for one more.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            let message = format!("{MOST} processes run in this sandbox, the most that can; end some first");
            Fault::new(Code::ResourceExhausted, message)
        })
    }

    pub(super) fn add(&self, process: Process) -> Arc<Process> {
        let process = Arc::new(process);
        self.table().running.push(Arc::clone(&process));
        process
    }

    /// It has ended.
    pub(super) fn retire(&self, process: &Process, end: End) {
        let mut table = self.table();
        table
            .running
            .retain(|other| !std::ptr::eq(&raw const **other, process));
        table.ended.push_back(Ended {
            at: Instant::now(),
            pid: process.pid,
            tag: process.tag.clone(),
            end,
        });
        table.forget();
    }

    pub(super) fn list(&self) -> Vec<Info> {
        self.table()
            .running
            .iter()
            .map(|process| process.info())
            .collect()
    }

    /// The one that is meant: of those that fit the one that was started last, and one that runs before one that ended.
    pub(super) fn find(&self, selector: &Selector) -> Result<Found, Fault> {
        let fits = |pid: u32, tag: Option<&str>| match selector {
            Selector::Pid(wanted) => pid == *wanted,
            Selector::Tag(wanted) => tag == Some(wanted),
        };
        let mut table = self.table();
        table.forget();
        let running = table.running.iter().rev();
        if let Some(process) = running
            .clone()
            .find(|process| fits(process.pid, process.tag.as_deref()))
        {
            return Ok(Found::Running(Arc::clone(process)));
        }
        let ended = table.ended.iter().rev();
        match ended.clone().find(|ended| fits(ended.pid, ended.tag.as_deref())) {
            Some(ended) => Ok(Found::Ended {
                pid: ended.pid,
                end: ended.end.clone(),
            }),
            None => Err(not_found(selector)),
        }
    }

    /// The one that is meant, if it runs.
    pub(super) fn running(&self, selector: &Selector) -> Result<Arc<Process>, Fault> {
        match self.find(selector)? {
            Found::Running(process) => Ok(process),
            Found::Ended { .. } => Err(not_found(selector)),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Forgets what ended long ago.
    fn forget(&mut self) {
        while let Some(oldest) = self.ended.front()
            && (oldest.at.elapsed() > REMEMBERED || self.ended.len() > MOST_REMEMBERED)
        {
            self.ended.pop_front();
        }
    }
}

fn not_found(selector: &Selector) -> Fault {
    let message = match selector {
        Selector::Pid(pid) => format!("no process with the number {pid} runs; list them to see which do"),
        Selector::Tag(tag) => {
            let tag: String = tag.chars().take(256).collect();
            format!(
                "no process with the tag `{}` runs; list them to see which do",
                tag.escape_debug()
            )
        }
    };
    Fault::new(Code::NotFound, message)
}

#[cfg(test)]
mod tests {
    use super::super::input::Inlet;
    use super::*;

    fn process(pid: u32, tag: &str) -> Process {
        let config = crate::process::Config::default();
        Process::new(pid, Some(tag.to_owned()), config, Inlet::nowhere(), None)
    }

    fn number(found: Result<Found, Fault>) -> Option<(u32, bool)> {
        match found {
            Ok(Found::Running(process)) => Some((process.pid, true)),
            Ok(Found::Ended { pid, .. }) => Some((pid, false)),
            Err(_) => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_ended_are_found_for_a_while_and_the_running_first() {
        let processes = Processes::default();
        let first = processes.add(process(7, "server"));
        processes.add(process(8, "server"));
        let server = Selector::Tag("server".to_owned());
        assert_eq!(number(processes.find(&server)), Some((8, true)));
        let second = processes.running(&server).unwrap();
        processes.retire(&second, End::default());
        assert_eq!(number(processes.find(&server)), Some((7, true)));
        processes.retire(&first, End::default());
        assert_eq!(number(processes.find(&Selector::Pid(8))), Some((8, false)));
        assert!(processes.running(&server).is_err());
        assert_eq!(processes.list(), []);
        tokio::time::advance(REMEMBERED * 2).await;
        assert_eq!(number(processes.find(&server)), None);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let processes = Processes::default();
        let places: Vec<_> = (0..MOST).map(|_| processes.place().unwrap()).collect();
        assert_eq!(processes.place().unwrap_err().code, Code::ResourceExhausted);
        drop(places);
        assert!(processes.place().is_ok());
    }
}
