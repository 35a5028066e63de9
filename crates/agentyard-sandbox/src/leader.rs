//! The process between the server and a command.
//!
//! It becomes the parent of all that a command leaves behind, so it finds daemons too, and it ends everything when the
//! command has ended, when it is told to, and when the server is gone, however that went: the two share a socket, which
//! the kernel closes with the server. On the host it starts the command itself; a sandbox it prepares first, which takes
//! a process of its own with a single thread, and then leaves to bubblewrap.

mod confined;
mod confinement;
mod descriptors;
mod led;
mod message;
mod on_host;
mod pipes;
mod spare;
mod stopping;
mod tree;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpid, set_child_subreaper, setsid};
use tokio::process::Child;

pub(crate) use confinement::Confinement;
pub(crate) use led::Led;
use message::Descriptors;
pub(crate) use message::{Launch, Request};
pub(crate) use pipes::{Pipes, input_of, output_pipe, read, read_now};
pub(crate) use spare::Leaders;

/// How long a command may take to end when it is asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How often those are buried that a command has left behind.
const REAP_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A program that calls [`lead`], and the words that make it do so.
#[derive(Debug, Clone)]
pub struct LeaderProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl LeaderProgram {
    /// The leader's own input is the socket; it has no output, so that nothing can mix into the command's.
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is where commands are started"
    )]
    pub(crate) fn start(&self, socket: UnixStream) -> io::Result<Child> {
        tokio::process::Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// Leads one command: takes it from the socket that is this process's standard input, runs it to its end or until the
/// other side closes the socket, ends whatever is left of it, and tells how it ended.
///
/// The process must not end by a signal that it can catch, since nobody would look after the command then.
///
/// # Errors
/// When there is no server at the other end of standard input, or this process cannot become what it has to be.
pub fn lead() -> io::Result<()> {
    descriptors::keep_to_this_process()?;
    let server = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let received = Descriptors::receive(&server)?;
    let request = Request::receive(&server)?;
    // A session of its own has no terminal, and nobody else's signals reach it.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    match request {
        Request::OnHost(launch) => on_host::run(launch, received, &server),
        Request::Confined(plan) => confined::run(*plan, received, &server),
    }
}

/// What a leader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// What it looks after may have ended.
    Look,
    /// The command is to be asked to end: the server has closed its side, or is gone.
    Stop,
    /// It is to be ended at once.
    Kill,
}

/// Waits until a process has ended, the server says something, or it is time to bury the dead.
fn wait(ended: &OwnedFd, server: &UnixStream) -> io::Result<Word> {
    let mut watched = [
        PollFd::new(ended, PollFlags::IN),
        PollFd::new(server, PollFlags::IN),
    ];
    match poll(&mut watched, Some(&REAP_INTERVAL)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    if watched[1].revents().is_empty() {
        return Ok(Word::Look);
    }
    let mut byte = [0];
    match rustix::net::recv(server, &mut byte, rustix::net::RecvFlags::DONTWAIT) {
        Ok((_, 1..)) => Ok(Word::Kill),
        _ => Ok(Word::Stop),
    }
}

fn pid_of(child: &std::process::Child) -> io::Result<Pid> {
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("a process without a number"))
}
