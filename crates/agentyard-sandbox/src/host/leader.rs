//! The process between the server and a command.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, fchdir, getpid, pidfd_open, set_child_subreaper, setsid};

use super::message::{Descriptors, Report, Request};
use super::tree::Tree;

/// How long a command may take to end when it is asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How often those are buried that a command has left behind.
const REAP_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Leads one command: takes it from the socket that is this process's standard input, runs it to its end or until the
/// other side closes the socket, ends whatever is left of it, and tells how it ended.
///
/// The process must not end by a signal that it can catch, since nobody would look after the command then.
///
/// # Errors
/// When there is no server at the other end of standard input, or this process cannot become what it has to be.
pub fn lead() -> io::Result<()> {
    let server = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let descriptors = Descriptors::receive(&server)?;
    let request = Request::receive(&server)?;
    // A session of its own has no terminal, and nobody else's signals reach it.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let report = match start(request, descriptors) {
        Ok(command) => {
            let mut tree = Tree::of(command);
            watch(&mut tree, &server)?;
            tree.end(GRACE);
            Report::Exited {
                code: tree.exit_code(),
                signal: tree.signal(),
            }
        }
        Err(error) => Report::NotStarted {
            errno: error
                .raw_os_error()
                .unwrap_or(rustix::io::Errno::INVAL.raw_os_error()),
        },
    };
    // A server that is gone needs no report.
    let _ = report.send(&server);
    Ok(())
}

/// Starts the command, in a process group of its own: when it signals its group, it does not mean us. This process
/// keeps none of its descriptors open.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where commands are started"
)]
fn start(request: Request, descriptors: Descriptors) -> io::Result<Pid> {
    fchdir(&descriptors.directory)?;
    let child = std::process::Command::new(request.program)
        .args(request.arguments)
        .env_clear()
        .envs(request.environment)
        .stdin(Stdio::from(descriptors.stdin))
        .stdout(Stdio::from(descriptors.stdout))
        .stderr(Stdio::from(descriptors.stderr))
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("a process without a number"))
}

/// Returns when the command has ended, or when nobody wants it any more.
fn watch(tree: &mut Tree, server: &UnixStream) -> io::Result<()> {
    let ended: OwnedFd = pidfd_open(tree.root(), PidfdFlags::empty())?;
    while !tree.root_has_ended() {
        let mut watched = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::new(server, PollFlags::IN),
        ];
        match poll(&mut watched, Some(&REAP_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        tree.reap();
        if !watched[1].revents().is_empty() {
            return Ok(());
        }
    }
    Ok(())
}
