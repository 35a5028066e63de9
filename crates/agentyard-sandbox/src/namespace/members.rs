//! Who is in the namespace.
//!
//! Every member holds a shared record lock on one file. The kernel tells whose locks a file has, frees those of a
//! process with its end, and names processes as whoever asks knows them: nothing is recorded that could be stale, and
//! a process of another container is not mistaken for one of ours.
//!
//! A process loses its record locks on a file when it closes any descriptor of it, so nobody else opens this one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, fcntl_lock, flock};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};

/// One process at a time enters. It takes less than a millisecond, so who takes longer is stopped or hangs.
const TURN_PATIENCE: Duration = Duration::from_secs(3);

const TURN_POLL: Duration = Duration::from_millis(1);

/// Below this, shells number descriptors of their own.
const OUT_OF_THE_WAY: i32 = 200;

/// What may be kept about the trial.
const MAX_NOTE_BYTES: u64 = 4096;

/// The members, while it is this process's turn to become one.
#[derive(Debug)]
pub(super) struct Members {
    turn: File,
    register: File,
}

/// A process's membership.
#[derive(Debug)]
pub(super) struct Member {
    register: OwnedFd,
}

impl Members {
    /// Waits for this process's turn, which ends when this is dropped.
    pub(super) fn open(locks: &Path) -> Result<Self, String> {
        let turn = open(&locks.join("namespace"))?;
        wait_for(&turn)?;
        let register = open(&locks.join("namespace-members"))?;
        Ok(Self { turn, register })
    }

    /// One of the members, if there are any.
    pub(super) fn find(&self) -> Result<Option<Pid>, String> {
        let found = fcntl_getlk(&self.register, &Flock::from(FlockType::WriteLock))
            .map_err(|error| format!("who is in the namespace could not be found out: {error}"))?;
        match found {
            None => Ok(None),
            Some(Flock { pid: Some(pid), .. }) => Ok(Some(pid)),
            Some(_) => Err(
                "the namespace belongs to processes that cannot be seen from here, as those of another container"
                    .to_owned(),
            ),
        }
    }

    /// Makes this process a member.
    pub(super) fn join(self) -> Result<Member, String> {
        let Self { turn, register } = self;
        // Before it is locked: closing the first descriptor would take the lock away again.
        let register = match fcntl_dupfd_cloexec(&register, OUT_OF_THE_WAY) {
            Ok(moved) => {
                drop(register);
                moved
            }
            Err(_) => register.into(),
        };
        fcntl_lock(&register, FlockOperation::NonBlockingLockShared)
            .map_err(|error| format!("membership of the namespace could not be recorded: {error}"))?;
        drop(turn);
        Ok(Member { register })
    }

    /// What was noted, for all who come later.
    pub(super) fn note(&mut self) -> io::Result<String> {
        let mut text = String::new();
        self.turn.rewind()?;
        (&self.turn).take(MAX_NOTE_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    /// When.
    pub(super) fn noted_at(&self) -> Option<SystemTime> {
        self.turn.metadata().and_then(|file| file.modified()).ok()
    }

    /// Notes something else.
    pub(super) fn write_note(&mut self, text: &str) -> io::Result<()> {
        self.turn.set_len(0)?;
        self.turn.rewind()?;
        self.turn.write_all(text.as_bytes())
    }
}

impl Member {
    /// Keeps the membership when this process becomes another program.
    pub(super) fn outlive_this_program(&self) -> io::Result<()> {
        Ok(fcntl_setfd(&self.register, FdFlags::empty())?)
    }
}

fn open(path: &Path) -> Result<File, String> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| format!("{} could not be opened: {error}", path.display()))
}

fn wait_for(turn: &File) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match flock(turn, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if begun.elapsed() < TURN_PATIENCE => std::thread::sleep(TURN_POLL),
            Err(Errno::WOULDBLOCK) => {
                return Err(format!(
                    "another process has been entering the namespace for {} s and may be stopped",
                    TURN_PATIENCE.as_secs()
                ));
            }
            Err(error) => return Err(format!("the namespace could not be locked: {error}")),
        }
    }
}
