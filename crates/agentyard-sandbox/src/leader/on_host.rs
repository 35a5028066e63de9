//! A command on the host itself.

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, fchdir, pidfd_open};

use super::message::{Descriptors, Launch, Report};
use super::tree::Tree;
use super::{GRACE, Word, pid_of, wait};

/// Runs a command to its end, and tells how it ended.
pub(super) fn run(launch: Launch, descriptors: Descriptors, server: &UnixStream) -> io::Result<()> {
    let report = carried_out(launch, descriptors, server)?;
    // A server that is gone needs no report.
    let _ = report.send(server, None);
    Ok(())
}

fn carried_out(launch: Launch, descriptors: Descriptors, server: &UnixStream) -> io::Result<Report> {
    let mut tree = match start(launch, descriptors) {
        Ok(command) => Tree::of(command),
        Err(error) => {
            let errno = error.raw_os_error();
            let errno = errno.unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
            return Ok(Report::NotStarted { errno });
        }
    };
    let ended = pidfd_open(tree.root(), PidfdFlags::empty())?;
    let mut grace = GRACE;
    while !tree.root_has_ended() {
        let word = wait(&ended, server)?;
        tree.reap();
        match word {
            Word::Look => {}
            Word::Stop => break,
            Word::Kill => {
                grace = Duration::ZERO;
                break;
            }
        }
    }
    tree.end(grace);
    Ok(Report::Exited {
        code: tree.exit_code(),
        signal: tree.signal(),
    })
}

/// Starts the command, in a process group of its own: when it signals its group, it does not mean us. This process
/// keeps none of its descriptors open.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where commands are started"
)]
fn start(launch: Launch, descriptors: Descriptors) -> io::Result<Pid> {
    let directory = descriptors.others.first().ok_or(io::ErrorKind::InvalidData)?;
    fchdir(directory)?;
    let child = std::process::Command::new(launch.program)
        .args(launch.arguments)
        .env_clear()
        .envs(launch.environment)
        .stdin(Stdio::from(descriptors.stdin))
        .stdout(Stdio::from(descriptors.stdout))
        .stderr(Stdio::from(descriptors.stderr))
        .process_group(0)
        .spawn()?;
    pid_of(&child)
}
