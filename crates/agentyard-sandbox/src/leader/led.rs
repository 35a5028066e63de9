//! A command that is led by a process of ours, as the server sees it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

use super::confinement::Confinement;
use super::message::{Descriptors, Report, Request, receive_with};
use super::pipes::{Pipes, read, read_now};
use super::{GRACE, Leaders, tree};
use crate::command::{CommandError, EndCause, Event, Exit, Limits, Stream};
use crate::egress::Denied;
use crate::sandbox::{Awaited, Process};

/// How much of what a leader says is read at once.
const REPORT_BYTES: usize = 4096;

/// How long a leader may take to end a command once it was told to.
const PATIENCE: Duration = Duration::from_secs(GRACE.as_secs() + 8);

/// What bubblewrap begins its complaints with.
const COMPLAINT: &[u8] = b"bwrap: ";

/// How long they are at most.
const MAX_COMPLAINT_BYTES: usize = 4096;

/// A leader that waits for its request. Starting it takes a while, in which other things can be prepared.
#[derive(Debug)]
pub(crate) struct Outlet {
    leader: Child,
    control: StdUnixStream,
    leaders: Leaders,
}

impl Outlet {
    pub(super) fn open(leaders: &Leaders) -> io::Result<Self> {
        let (control, theirs) = StdUnixStream::pair()?;
        let leader = leaders.program().start(theirs)?;
        control.set_nonblocking(true)?;
        Ok(Self {
            leader,
            control,
            leaders: leaders.clone(),
        })
    }

    /// Itself, unless its leader has ended meanwhile.
    pub(super) fn if_alive(mut self) -> Option<Self> {
        matches!(self.leader.try_wait(), Ok(None)).then_some(self)
    }

    /// Hands over what is to be run. The descriptors are closed here as soon as they were sent.
    pub(crate) async fn lead(
        self,
        request: &Request,
        descriptors: Descriptors,
        pipes: Pipes,
        program: String,
        limits: Limits,
        confinement: Confinement,
    ) -> io::Result<Led> {
        descriptors.send(&self.control)?;
        drop(descriptors);
        let mut control = UnixStream::from_std(self.control)?;
        request.send(&mut control).await?;
        let started = Instant::now();
        Ok(Led {
            program,
            session: self.leader.id(),
            leader: self.leader,
            leaders: self.leaders,
            control,
            stdout: Some(pipes.stdout),
            stderr: Some(pipes.stderr),
            limits,
            said: 0,
            held: Vec::new(),
            has_complained: false,
            started,
            timer: started + limits.duration,
            cause: EndCause::Itself,
            reports: Vec::new(),
            confinement,
            end: None,
        })
    }
}

/// A command that is led by a process of ours.
#[derive(Debug)]
pub(crate) struct Led {
    program: String,
    leader: Child,
    leaders: Leaders,
    /// The leader's number, which is that of the command's session too.
    session: Option<u32>,
    control: UnixStream,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    limits: Limits,
    said: u64,
    /// What seems to be a complaint of bubblewrap's, until it is known whether the command was started at all.
    held: Vec<u8>,
    has_complained: bool,
    started: Instant,
    /// When its time is up; once it was told to end, when it is given up.
    timer: Instant,
    cause: EndCause,
    /// What the leader has said and was not understood yet.
    reports: Vec<u8>,
    confinement: Confinement,
    end: Option<End>,
}

/// How it ended, as far as this side knows.
#[derive(Debug, Clone)]
enum End {
    Exited(Exit),
    NotStarted(i32),
    NotConfined(String),
    Lost,
}

impl Process for Led {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        Box::pin(self.next_event())
    }

    fn stop(&mut self) {
        self.stop_because(EndCause::Stopped);
    }

    fn denied(&self) -> Vec<Denied> {
        self.confinement.denied()
    }
}

/// What happened, of all that is waited for.
enum Happening {
    Said(Stream, Option<Vec<u8>>),
    Told(io::Result<(Vec<u8>, Vec<OwnedFd>)>),
    TimeIsUp,
    Exceeded(EndCause),
}

impl Led {
    /// Waits until the sandbox is there, in which the command is about to be started.
    pub(crate) async fn sandboxed(&mut self) -> Result<Pid, CommandError> {
        loop {
            if let Some(first) = self.confinement.first() {
                return Ok(first);
            }
            if self.end.is_some() {
                let program = self.program.clone();
                return Err(self.ended().err().unwrap_or(CommandError::Lost { program }));
            }
            // Nobody is there yet who could say anything that should be kept.
            self.step().await;
        }
    }

    /// What it does next.
    pub(crate) async fn next_event(&mut self) -> Result<Event, CommandError> {
        while self.end.is_none() {
            if let Some(event) = self.step().await {
                return Ok(event);
            }
        }
        match self.leftover() {
            Some(event) => Ok(event),
            None => self.ended(),
        }
    }

    /// What holds it, beside its sandbox.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.kill_because(EndCause::Stopped);
        self.confinement.kill();
    }

    /// Waits until anything happens. Nothing is lost when this is dropped halfway.
    async fn step(&mut self) -> Option<Event> {
        let happening = tokio::select! {
            read = read(&mut self.stdout) => Happening::Said(Stream::Stdout, read),
            read = read(&mut self.stderr) => Happening::Said(Stream::Stderr, read),
            told = told(&self.control) => Happening::Told(told),
            () = sleep_until(self.timer) => Happening::TimeIsUp,
            cause = self.confinement.exceeded(), if self.cause == EndCause::Itself => Happening::Exceeded(cause),
        };
        match happening {
            Happening::Said(Stream::Stdout, None) => self.stdout = None,
            Happening::Said(Stream::Stderr, None) => self.stderr = None,
            Happening::Said(stream, Some(bytes)) => return self.said(stream, bytes),
            Happening::Told(Ok((bytes, descriptors))) if !bytes.is_empty() => {
                self.reports.extend(bytes);
                self.confinement.listen(descriptors);
                while let Some(report) = Report::take(&mut self.reports) {
                    self.understand(report);
                }
            }
            Happening::Told(_) => self.lose_leader(),
            Happening::TimeIsUp => self.time_is_up(),
            Happening::Exceeded(cause) => {
                self.kill_because(cause);
                self.confinement.kill_frozen();
            }
        }
        None
    }

    /// Has the command asked to end.
    fn stop_because(&mut self, cause: EndCause) {
        if self.begins_to_end(cause) {
            // The leader reads the end of the socket as the word to stop. One that is gone needs none.
            let _ = rustix::net::shutdown(self.control.as_fd(), rustix::net::Shutdown::Write);
        }
    }

    /// Has the command ended at once: it has taken too much already.
    fn kill_because(&mut self, cause: EndCause) {
        if self.begins_to_end(cause) {
            let _ = self.control.try_write(b"k");
        }
    }

    fn begins_to_end(&mut self, cause: EndCause) -> bool {
        let begins = self.cause == EndCause::Itself && self.end.is_none();
        if begins {
            self.cause = cause;
            self.timer = Instant::now() + PATIENCE;
            self.confinement.loosen();
        }
        begins
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
        self.said += bytes.len() as u64;
        if self.said > self.limits.output_bytes {
            self.kill_because(EndCause::OutputLimit);
        }
        if stream == Stream::Stderr && self.may_be_complaint(&bytes) {
            self.held.extend(bytes);
            return None;
        }
        if stream == Stream::Stderr && !self.held.is_empty() {
            self.held.extend(bytes);
            return self.leftover();
        }
        Some(Event::Output(stream, bytes))
    }

    /// Whether this may be why bubblewrap could not start the command, which it tells as the first thing and in pieces.
    fn may_be_complaint(&mut self, bytes: &[u8]) -> bool {
        let is_first = !std::mem::replace(&mut self.has_complained, true);
        let begins = is_first && self.confinement.watch.is_some() && bytes.starts_with(COMPLAINT);
        begins || (!self.held.is_empty() && self.held.len() + bytes.len() < MAX_COMPLAINT_BYTES)
    }

    fn understand(&mut self, report: Report) {
        self.end = match report {
            Report::Started { pid } => {
                self.confinement.started(pid);
                None
            }
            Report::Exited { code, signal } => {
                let exit = self.exit(code, signal);
                // The leader may remove the groups now. One that is gone needs no word.
                let _ = self.control.try_write(b"r");
                Some(End::Exited(exit))
            }
            Report::NotStarted { errno } => Some(End::NotStarted(errno)),
            Report::NotConfined { reason } => {
                while let Some(Event::Output(_, bytes)) = self.unread() {
                    self.held.extend(bytes);
                }
                let complaint = String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned();
                Some(End::NotConfined(reason.unwrap_or(complaint)))
            }
        };
    }

    fn exit(&self, code: Option<i32>, signal: Option<i32>) -> Exit {
        let ended_by_kernel =
            self.cause == EndCause::Itself && code != Some(0) && self.confinement.ran_out_of_memory();
        Exit {
            code,
            signal,
            duration: self.started.elapsed(),
            cause: if ended_by_kernel {
                EndCause::MemoryLimit
            } else {
                self.cause
            },
            usage: self.confinement.usage(),
        }
    }

    /// Nobody looks after the command any more: what is in its sandbox or at least in its session is ended from here.
    fn lose_leader(&mut self) {
        let _ = self.leader.start_kill();
        self.confinement.kill();
        if let Some(session) = self.session.and_then(|number| i32::try_from(number).ok()) {
            tree::kill_session(session);
        }
        self.end = Some(End::Lost);
    }

    /// What was said before the end and not told yet. What somebody may still hold open is not waited for.
    fn leftover(&mut self) -> Option<Event> {
        if !self.held.is_empty() {
            return Some(Event::Output(Stream::Stderr, std::mem::take(&mut self.held)));
        }
        self.unread()
    }

    fn unread(&mut self) -> Option<Event> {
        for (stream, pipe) in [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ] {
            match read_now(pipe) {
                Some(bytes) => return Some(Event::Output(stream, bytes)),
                None => *pipe = None,
            }
        }
        None
    }

    fn ended(&self) -> Result<Event, CommandError> {
        let program = || self.program.clone();
        match &self.end {
            Some(End::Exited(exit)) => {
                self.leaders.prepare();
                Ok(Event::Ended(*exit))
            }
            Some(End::NotStarted(errno)) => Err(CommandError::Start {
                program: program(),
                source: io::Error::from_raw_os_error(*errno),
            }),
            Some(End::NotConfined(complaint)) => Err(crate::bubblewrap::failure(&self.program, complaint)),
            Some(End::Lost) | None => Err(CommandError::Lost { program: program() }),
        }
    }
}

/// Reads what the leader says, and what it hands over with that. Nothing is lost when this is dropped halfway.
async fn told(control: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    control
        .async_io(Interest::READABLE, || {
            let mut bytes = vec![0; REPORT_BYTES];
            let (length, descriptors) = receive_with(control, &mut bytes)?;
            bytes.truncate(length);
            Ok((bytes, descriptors))
        })
        .await
}
