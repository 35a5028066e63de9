//! One process: fed, drained, bounded, and ended with its caller.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::confinement::Confinement;

/// How often the flag is looked at that says whether anybody still waits for the process.
const CANCEL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// How long git may take to remove its lock files when nobody waits for it any more.
const GRACE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};

/// How much of standard error is kept. git says what went wrong last, so the beginning goes first.
const ERROR_TAIL: usize = 32 * 1024;

/// How much is read or written at once.
const CHUNK: usize = 64 * 1024;

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) output: Vec<u8>,
    /// Whether it was stopped because it had said enough. Its exit code means nothing then.
    pub(crate) truncated: bool,
    /// The end of what it said on standard error.
    pub(crate) errors: Vec<u8>,
}

/// What a process is run with.
pub(crate) struct Feed<'a> {
    /// What it reads on standard input.
    pub(crate) input: &'a [u8],
    /// The most it may say.
    pub(crate) output_limit: usize,
    /// Told every line of standard error as it comes, also lines that end in a carriage return.
    pub(crate) on_error_line: &'a mut dyn FnMut(&[u8]),
    /// Ends the process when set.
    pub(crate) cancel: &'a AtomicBool,
    /// Ends the process when it has said nothing at all after so long.
    pub(crate) silence: Option<Duration>,
}

/// Why there is no [`Finished`].
pub(crate) enum Stopped {
    Start(io::Error),
    Cancelled,
    /// It said nothing at all for as long as it was given.
    Silent,
    Broken(io::Error),
}

/// Runs a process to its end. It is the leader of its own group, and nothing of that group outlives this call.
pub(crate) fn run(
    mut command: Command,
    confinement: Option<&Confinement<'_>>,
    feed: Feed<'_>,
) -> Result<Finished, Stopped> {
    command
        .process_group(0)
        .stdin(if feed.input.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = match confinement {
        None => command.spawn(),
        Some(confinement) => confinement.spawn(&mut command),
    }
    .map_err(Stopped::Start)?;
    Running::new(child, feed)?.run_to_end()
}

struct Running<'a> {
    group: Group,
    exit: OwnedFd,
    stdin: Option<ChildStdin>,
    stdout: Option<std::process::ChildStdout>,
    stderr: Option<std::process::ChildStderr>,
    written: usize,
    line: Vec<u8>,
    finished: Finished,
    started: Instant,
    has_spoken: bool,
    feed: Feed<'a>,
}

/// The process and all that it started, which end when this is dropped.
struct Group {
    leader: Child,
    ended: bool,
}

impl Group {
    fn number(&self) -> Option<Pid> {
        i32::try_from(self.leader.id()).ok().and_then(Pid::from_raw)
    }

    /// Kills what is left of the group, and tells how its leader ended.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // The leader is reaped after its group is killed, so the number cannot mean another group by now.
        if !self.ended
            && let Some(group) = self.number()
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.ended = true;
        self.leader.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl<'a> Running<'a> {
    fn new(mut child: Child, feed: Feed<'a>) -> Result<Self, Stopped> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Group {
            leader: child,
            ended: false,
        };
        let exit = group
            .number()
            .ok_or_else(|| io::Error::other("a process without a number"))
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))
            .map_err(Stopped::Broken)?;
        let streams = [
            stdin.as_ref().map(|stream| stream.as_fd()),
            stdout.as_ref().map(|stream| stream.as_fd()),
            stderr.as_ref().map(|stream| stream.as_fd()),
        ];
        for stream in streams.into_iter().flatten() {
            rustix::io::ioctl_fionbio(stream, true).map_err(|errno| Stopped::Broken(errno.into()))?;
        }
        Ok(Self {
            group,
            exit,
            stdin,
            stdout,
            stderr,
            written: 0,
            line: Vec::new(),
            finished: Finished {
                code: None,
                signal: None,
                output: Vec::new(),
                truncated: false,
                errors: Vec::new(),
            },
            started: Instant::now(),
            has_spoken: false,
            feed,
        })
    }

    fn run_to_end(mut self) -> Result<Finished, Stopped> {
        loop {
            if self.feed.cancel.load(Ordering::Relaxed) {
                self.ask_to_end();
                return Err(Stopped::Cancelled);
            }
            if self.is_too_silent() {
                return Err(Stopped::Silent);
            }
            let ended = self.wait_for_something().map_err(Stopped::Broken)?;
            self.write_some();
            self.read_output().map_err(Stopped::Broken)?;
            self.read_errors().map_err(Stopped::Broken)?;
            if self.finished.truncated {
                return Ok(self.finished);
            }
            // What a child of it still holds open is not waited for: it dies with the group.
            if ended {
                break;
            }
        }
        let status = self.group.end().map_err(Stopped::Broken)?;
        self.finished.code = status.code();
        self.finished.signal = status.signal();
        Ok(self.finished)
    }

    /// Lets git tidy up: one that is killed outright leaves its locks, and the next call would find them in its
    /// way.
    fn ask_to_end(&self) {
        if let Some(group) = self.group.number() {
            let _ = kill_process_group(group, Signal::TERM);
            let _ = poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], Some(&GRACE));
        }
    }

    fn is_too_silent(&mut self) -> bool {
        self.has_spoken |= !self.finished.output.is_empty() || !self.finished.errors.is_empty();
        let limit = self.feed.silence;
        !self.has_spoken && limit.is_some_and(|limit| self.started.elapsed() > limit)
    }

    /// Whether the process has ended.
    fn wait_for_something(&self) -> io::Result<bool> {
        let mut watched = vec![PollFd::new(&self.exit, PollFlags::IN)];
        watched.extend(
            self.stdin
                .iter()
                .map(|stream| PollFd::new(stream, PollFlags::OUT)),
        );
        watched.extend(
            self.stdout
                .iter()
                .map(|stream| PollFd::new(stream, PollFlags::IN)),
        );
        watched.extend(
            self.stderr
                .iter()
                .map(|stream| PollFd::new(stream, PollFlags::IN)),
        );
        match poll(&mut watched, Some(&CANCEL_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!watched[0].revents().is_empty()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes what fits. A process that does not want the rest of its input is no failure of ours.
    fn write_some(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        let rest = &self.feed.input[self.written..];
        match stdin.write(&rest[..rest.len().min(CHUNK)]) {
            Ok(written) => self.written += written,
            Err(error) if is_temporary(&error) => {}
            Err(_) => self.written = self.feed.input.len(),
        }
        if self.written == self.feed.input.len() {
            self.stdin = None;
        }
    }

    fn read_output(&mut self) -> io::Result<()> {
        let Some(stdout) = &mut self.stdout else {
            return Ok(());
        };
        let room = self.feed.output_limit - self.finished.output.len();
        let open = drain(stdout, &mut self.finished.output, room)?;
        if self.finished.output.len() > self.feed.output_limit {
            self.finished.output.truncate(self.feed.output_limit);
            self.finished.truncated = true;
        }
        if !open {
            self.stdout = None;
        }
        Ok(())
    }

    fn read_errors(&mut self) -> io::Result<()> {
        let Some(stderr) = &mut self.stderr else {
            return Ok(());
        };
        let mut said = Vec::new();
        let open = drain(stderr, &mut said, CHUNK)?;
        for byte in &said {
            if matches!(byte, b'\n' | b'\r') {
                (self.feed.on_error_line)(&self.line);
                self.line.clear();
            } else if self.line.len() < CHUNK {
                self.line.push(*byte);
            }
        }
        self.finished.errors.append(&mut said);
        let surplus = self.finished.errors.len().saturating_sub(ERROR_TAIL);
        self.finished.errors.drain(..surplus);
        if !open {
            self.stderr = None;
        }
        Ok(())
    }
}

/// Reads what is there, up to a little more than `room`, and tells whether more may come.
fn drain(stream: &mut impl io::Read, into: &mut Vec<u8>, room: usize) -> io::Result<bool> {
    let limit = into.len() + room;
    loop {
        match stream.by_ref().take(CHUNK as u64).read_to_end(into) {
            Ok(0) => return Ok(false),
            Ok(_) if into.len() > limit => return Ok(true),
            Ok(_) => {}
            Err(error) if is_temporary(&error) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any program that says nothing will do")]
    fn a_process_that_says_nothing_is_given_up() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let feed = Feed {
            input: &[],
            output_limit: 10,
            on_error_line: &mut |_| {},
            cancel: &AtomicBool::new(false),
            silence: Some(Duration::from_millis(1)),
        };
        assert!(matches!(run(command, None, feed), Err(Stopped::Silent)));
    }
}
