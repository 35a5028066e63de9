//! Calls that may wait for another machine end with the server, however that ends.
//!
//! A process group is killed by its caller; when the caller itself is killed outright, nobody is left to do so, and
//! what git has started to talk to the remote would wait on. So such calls are started through a program of ours,
//! which leads the group, watches the server, and kills the group when the server is gone.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, getppid, kill_process_group, pidfd_open};

/// The program that calls [`run_tethered`], and the word that makes it do so.
#[derive(Debug, Clone)]
pub struct Tether {
    /// The program.
    pub program: PathBuf,
    /// Its first argument.
    pub argument: &'static str,
}

impl Tether {
    /// A command for `program` that ends with this process.
    #[expect(clippy::disallowed_methods, reason = "this crate is where git is started")]
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(self.argument)
            .arg(std::process::id().to_string())
            .arg(program);
        command
    }
}

/// Runs a program to its end, or until the parent of this process is gone; then the whole process group is killed,
/// and this process with it. `arguments` are the parent's number, the program and its arguments.
///
/// This process must not end on SIGTERM: the program is given the time to tidy up.
#[expect(clippy::disallowed_methods, reason = "this crate is where git is started")]
pub fn run_tethered(mut arguments: impl Iterator<Item = OsString>) -> io::Result<i32> {
    let (Some(parent), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let named_parent = getppid().filter(|pid| parent == OsString::from(pid.as_raw_nonzero().to_string()));
    // It may be gone already.
    let parent = named_parent.ok_or(io::ErrorKind::NotFound)?;
    let parent = pidfd_open(parent, PidfdFlags::empty())?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = pidfd_open(number.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    loop {
        let mut watched = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::new(&parent, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if !watched[0].revents().is_empty() {
            return Ok(child.wait()?.code().unwrap_or(128));
        }
        if !watched[1].revents().is_empty() {
            kill_process_group(getpgrp(), Signal::KILL)?;
        }
    }
}
