//! Commands on the host itself: no isolation, but nothing of a command outlives it.
//!
//! Between the server and a command stands a process of ours, its leader ([`lead`]). It becomes the parent of all that
//! a command leaves behind, so it finds daemons too, and it ends everything when the command has ended, when it is
//! told to, and when the server is gone, however that went: the two share a socket, which the kernel closes with the
//! server.

mod leader;
mod message;
mod tree;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{MemfdFlags, Mode, OFlags, ResolveFlags, memfd_create, openat2};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

use crate::command::{Command, CommandError, EndCause, Event, Exit, Limits, Mount, Stream, Usage};
use crate::sandbox::{Awaited, Backend, Enforcement, Process, Running, Sandbox, Weakness};
pub use leader::lead;
use message::{Descriptors, Report, Request};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// How long a leader may take to end a command once it was told to.
const PATIENCE: Duration = Duration::from_secs(leader::GRACE.as_secs() + 8);

/// Runs commands on the host.
#[derive(Debug, Clone)]
pub struct Host {
    leader: LeaderProgram,
}

/// A program that calls [`lead`], and the words that make it do so.
#[derive(Debug, Clone)]
pub struct LeaderProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Host {
    /// Runs commands under this leader.
    #[must_use]
    pub fn new(leader: LeaderProgram) -> Self {
        Self { leader }
    }

    async fn started(&self, command: Command) -> io::Result<Led> {
        let directory = directory_of(&command)?;
        let (ours, theirs) = StdUnixStream::pair()?;
        let (stdout, stdout_end) = output_pipe()?;
        let (stderr, stderr_end) = output_pipe()?;
        let leader = self.start_leader(theirs)?;
        let descriptors = Descriptors {
            directory,
            stdin: input(&command.input)?,
            stdout: stdout_end,
            stderr: stderr_end,
        };
        ours.set_nonblocking(true)?;
        descriptors.send(&ours)?;
        drop(descriptors);
        let mut control = UnixStream::from_std(ours)?;
        let request = Request {
            program: command.program,
            arguments: command.arguments,
            environment: command.environment,
        };
        request.send(&mut control).await?;
        let started = Instant::now();
        Ok(Led {
            program: request.program,
            session: leader.id(),
            leader,
            control,
            stdout: Some(stdout),
            stderr: Some(stderr),
            limits: command.limits,
            said: 0,
            started,
            timer: started + command.limits.duration,
            cause: EndCause::Itself,
            report: Vec::new(),
            end: None,
        })
    }

    /// The leader's own input is the socket; it has no output, so that nothing can mix into the command's.
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is where commands are started"
    )]
    fn start_leader(&self, socket: StdUnixStream) -> io::Result<Child> {
        tokio::process::Command::new(&self.leader.program)
            .args(&self.leader.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }
}

impl Sandbox for Host {
    fn backend(&self) -> Backend {
        Backend::Host
    }

    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>> {
        Box::pin(async move {
            let led = self.started(command).await.map_err(CommandError::Prepare)?;
            Ok(Running::new(led))
        })
    }

    fn path_inside(&self, mount: &Mount) -> PathBuf {
        mount.host_path.clone()
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        let nothing = Weakness {
            what: "isolation".to_owned(),
            reason: "commands run on the host itself and can do whatever its user can".to_owned(),
            remedy: "install bubblewrap and turn `sandbox.allow_host` off".to_owned(),
        };
        Box::pin(std::future::ready(Enforcement {
            holds: vec!["time, output: watched".to_owned()],
            weaker: vec![nothing],
            breaches: Vec::new(),
        }))
    }
}

/// The directory in which a command starts, as this machine knows it.
fn directory_of(command: &Command) -> io::Result<OwnedFd> {
    let found = command.mounts.iter().find_map(|mount| {
        let below = command.directory.strip_prefix(&mount.at).ok()?;
        Some((mount, below))
    });
    let Some((mount, below)) = found else {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the directory to run in is in none of the mounts",
        ));
    };
    if below.as_os_str().is_empty() {
        return mount.source.try_clone();
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&mount.source, below, flags, Mode::empty(), resolve)?)
}

/// A command that is led by a process of ours.
#[derive(Debug)]
struct Led {
    program: String,
    leader: Child,
    /// The leader's number, which is that of the command's session too.
    session: Option<u32>,
    control: UnixStream,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    limits: Limits,
    said: u64,
    started: Instant,
    /// When its time is up; once it was told to end, when it is given up.
    timer: Instant,
    cause: EndCause,
    /// What the leader has told so far of how the command ended.
    report: Vec<u8>,
    end: Option<End>,
}

/// How it ended, as far as this side knows.
#[derive(Debug, Clone, Copy)]
enum End {
    Exited(Exit),
    NotStarted(i32),
    Lost,
}

impl Process for Led {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        Box::pin(self.next_event())
    }

    fn stop(&mut self) {
        self.stop_because(EndCause::Stopped);
    }
}

impl Led {
    async fn next_event(&mut self) -> Result<Event, CommandError> {
        while self.end.is_none() {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            tokio::select! {
                open = read(&mut self.stdout, &mut out) => {
                    self.stdout = self.stdout.take().filter(|_| open);
                }
                open = read(&mut self.stderr, &mut err) => {
                    self.stderr = self.stderr.take().filter(|_| open);
                }
                ended = self.control.read_buf(&mut self.report) => {
                    if !matches!(ended, Ok(1..)) {
                        self.leader_ended();
                    }
                }
                () = sleep_until(self.timer) => self.time_is_up(),
            }
            if let Some(event) = self.said(Stream::Stdout, out).or(self.said(Stream::Stderr, err)) {
                return Ok(event);
            }
        }
        match self.leftover() {
            Some(event) => Ok(event),
            None => self.ended(),
        }
    }

    fn stop_because(&mut self, cause: EndCause) {
        if self.cause == EndCause::Itself && self.end.is_none() {
            self.cause = cause;
            self.timer = Instant::now() + PATIENCE;
            // The leader reads the end of the socket as the word to stop. One that is gone needs none.
            let _ = rustix::net::shutdown(self.control.as_fd(), rustix::net::Shutdown::Write);
        }
    }

    fn time_is_up(&mut self) {
        if self.cause == EndCause::Itself {
            self.stop_because(EndCause::Deadline);
        } else {
            self.lose_leader();
        }
    }

    /// Counts what was said, and ends a command that says too much.
    fn said(&mut self, stream: Stream, bytes: Vec<u8>) -> Option<Event> {
        if bytes.is_empty() {
            return None;
        }
        self.said += bytes.len() as u64;
        if self.said > self.limits.output_bytes {
            self.stop_because(EndCause::OutputLimit);
        }
        Some(Event::Output(stream, bytes))
    }

    fn leader_ended(&mut self) {
        match Report::read(&self.report) {
            Some(Report::Exited { code, signal }) => {
                self.end = Some(End::Exited(Exit {
                    code,
                    signal,
                    duration: self.started.elapsed(),
                    cause: self.cause,
                    usage: Usage::default(),
                }));
            }
            Some(Report::NotStarted { errno }) => self.end = Some(End::NotStarted(errno)),
            None => self.lose_leader(),
        }
    }

    /// Nobody looks after the command any more: at least what still is in its session is ended from here.
    fn lose_leader(&mut self) {
        let _ = self.leader.start_kill();
        if let Some(session) = self.session.and_then(|number| i32::try_from(number).ok()) {
            tree::kill_session(session);
        }
        self.end = Some(End::Lost);
    }

    /// What was said before the end and not read yet. What somebody may still hold open is not waited for.
    fn leftover(&mut self) -> Option<Event> {
        for (stream, pipe) in [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ] {
            let mut bytes = vec![0; CHUNK];
            match pipe.as_mut().map(|pipe| pipe.try_read(&mut bytes)) {
                Some(Ok(length @ 1..)) => {
                    bytes.truncate(length);
                    return Some(Event::Output(stream, bytes));
                }
                _ => *pipe = None,
            }
        }
        None
    }

    fn ended(&self) -> Result<Event, CommandError> {
        let program = || self.program.clone();
        match self.end {
            Some(End::Exited(exit)) => Ok(Event::Ended(exit)),
            Some(End::NotStarted(errno)) => Err(CommandError::Start {
                program: program(),
                source: io::Error::from_raw_os_error(errno),
            }),
            Some(End::Lost) | None => Err(CommandError::Lost { program: program() }),
        }
    }
}

/// A pipe: our end, and the end that a command writes to.
fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (ours, theirs) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(ours.into())?, theirs.into()))
}

/// What a command reads: kept by the kernel, so that nobody needs to feed it.
fn input(bytes: &[u8]) -> io::Result<OwnedFd> {
    if bytes.is_empty() {
        return Ok(std::fs::File::open("/dev/null")?.into());
    }
    let mut file = std::fs::File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut file, bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Reads some, and tells whether more may come. Without a pipe it never ends.
async fn read(pipe: &mut Option<pipe::Receiver>, into: &mut Vec<u8>) -> bool {
    match pipe {
        None => std::future::pending().await,
        Some(pipe) => {
            pipe.readable().await.ok();
            let mut bytes = vec![0; CHUNK];
            match pipe.try_read(&mut bytes) {
                Ok(0) => false,
                Ok(length) => {
                    bytes.truncate(length);
                    *into = bytes;
                    true
                }
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
}
