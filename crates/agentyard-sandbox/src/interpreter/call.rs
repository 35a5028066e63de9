//! One call of an interpreter: its code runs in a child of it, and is watched from here.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::process::Signal;
use serde::Serialize;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::contexts::Seat;
use super::packets::Packet;
use super::report::{MAX_REPORT_BYTES, Report};
use super::zygote::{Child, Said, Zygote};
use super::{Code, Script};
use crate::command::{CommandError, EndCause, Event, Exit, Limits, Network, Stream};
use crate::egress::egress_environment;
use crate::leader::{Confinement, GRACE, input_of, output_pipe, read, read_now};
use crate::sandbox::{Awaited, Process};

/// What came of a call beside its end.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the code did, in its own words.
    pub report: Option<Report>,
    /// Whether the context that it ran in is gone.
    pub context_ended: bool,
}

/// What an interpreter is told to run.
#[derive(Debug, Serialize)]
pub(super) struct Request {
    pub(super) source: Option<String>,
    pub(super) path: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: String,
    pub(super) executable: String,
    pub(super) prefix: Option<String>,
    /// The top of the agent's own files.
    pub(super) root: String,
}

impl Request {
    /// What the code of a script is told.
    ///
    /// # Errors
    /// When a path is not text.
    pub(super) fn new(script: &Script) -> Result<Self, String> {
        let command = &script.command;
        let tree = command.mounts.first().map_or(Path::new("/"), |mount| &mount.at);
        let (source, path) = match &script.code {
            Code::Text(text) => (Some(text.clone()), None),
            Code::File(path) => (None, Some(text_of(path)?)),
        };
        let mut environment: BTreeMap<_, _> = command.environment.iter().cloned().collect();
        if command.network != Network::None {
            environment.extend(egress_environment());
        }
        Ok(Self {
            source,
            path,
            arguments: script.arguments.clone(),
            environment,
            directory: text_of(&command.directory)?,
            executable: command.program.clone(),
            prefix: script.prefix.as_deref().map(text_of).transpose()?,
            root: text_of(tree)?,
        })
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| format!("the path {} is not text", path.display()))
}

/// A child of an interpreter, with all that it needs to go on.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) child: Child,
    pub(super) confinement: Confinement,
    /// The child ends with it.
    pub(super) zygote: Arc<Zygote>,
    /// Whether nothing has run in it yet, so that it still does what it is told.
    pub(super) is_fresh: bool,
}

/// A call that runs. Dropping this ends it, with all that it has started.
#[derive(Debug)]
pub(super) struct Call {
    /// Nothing once it has gone back to its context, or has ended.
    holder: Option<Holder>,
    zygote: Arc<Zygote>,
    program: String,
    /// Where the child goes when the call has ended, if it is to be kept.
    seat: Option<Seat>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    report: Option<pipe::Receiver>,
    reported: Vec<u8>,
    limits: Limits,
    said: u64,
    started: Instant,
    /// When its time is up; once it was asked to end, when it is made to.
    timer: Instant,
    cause: EndCause,
    told: Said,
    /// Whether the processes of the child may still say something.
    hears_first: bool,
    hears_second: bool,
    end: Option<Exit>,
    outcome: Option<oneshot::Sender<Outcome>>,
}

impl Call {
    /// Hands a call to a child.
    pub(super) async fn begin(
        mut holder: Holder,
        request: &Request,
        input: &[u8],
        limits: Limits,
        seat: Option<Seat>,
    ) -> io::Result<(Self, oneshot::Receiver<Outcome>)> {
        let (stdout, stdout_end) = output_pipe()?;
        let (stderr, stderr_end) = output_pipe()?;
        let (report, report_end) = output_pipe()?;
        let groups = match holder.is_fresh {
            true => holder.confinement.open_member_lists()?,
            false => Vec::new(),
        };
        holder.is_fresh = false;
        let message = serde_json::json!({ "context": seat.is_some(), "groups": groups.len() });
        let message = serde_json::to_vec(&message)?;
        let mut given: Vec<OwnedFd> = vec![
            input_of(&serde_json::to_vec(request)?)?,
            input_of(input)?,
            stdout_end,
            stderr_end,
            report_end,
        ];
        given.extend(groups);
        let descriptors: Vec<_> = given.iter().map(|descriptor| descriptor.as_fd()).collect();
        holder.child.calls.send(&message, &descriptors).await?;
        let (sender, receiver) = oneshot::channel();
        let started = Instant::now();
        let call = Self {
            zygote: Arc::clone(&holder.zygote),
            holder: Some(holder),
            program: request.executable.clone(),
            hears_first: true,
            hears_second: seat.is_some(),
            seat,
            stdout: Some(stdout),
            stderr: Some(stderr),
            report: Some(report),
            reported: Vec::new(),
            limits,
            said: 0,
            started,
            timer: started + limits.duration,
            cause: EndCause::Itself,
            told: Said::default(),
            end: None,
            outcome: Some(sender),
        };
        Ok((call, receiver))
    }
}

impl Process for Call {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        Box::pin(self.next_event())
    }

    fn stop(&mut self) {
        self.stop_because(EndCause::Stopped);
    }
}

/// What happened, of all that is waited for.
enum Happening {
    Said(Stream, Option<Vec<u8>>),
    Reported(Option<Vec<u8>>),
    Told(Option<Packet>),
    Done(Option<Packet>),
    Ended,
    TimeIsUp,
    Exceeded(EndCause),
}

impl Call {
    async fn next_event(&mut self) -> Result<Event, CommandError> {
        while self.end.is_none() {
            let Some(holder) = &mut self.holder else {
                break;
            };
            let (child, confinement) = (&holder.child, &mut holder.confinement);
            let happening = tokio::select! {
                read = read(&mut self.stdout) => Happening::Said(Stream::Stdout, read),
                read = read(&mut self.stderr) => Happening::Said(Stream::Stderr, read),
                read = read(&mut self.report) => Happening::Reported(read),
                told = child.channel.receive(), if self.hears_first => Happening::Told(told.ok().flatten()),
                done = child.calls.receive(), if self.hears_second => Happening::Done(done.ok().flatten()),
                () = child.first.ended() => Happening::Ended,
                () = sleep_until(self.timer) => Happening::TimeIsUp,
                cause = confinement.exceeded(), if self.cause == EndCause::Itself => Happening::Exceeded(cause),
            };
            match happening {
                Happening::Said(Stream::Stdout, None) => self.stdout = None,
                Happening::Said(Stream::Stderr, None) => self.stderr = None,
                Happening::Said(stream, Some(bytes)) => return Ok(self.said(stream, bytes)),
                Happening::Reported(bytes) => self.reported(bytes),
                // The first process says so when nobody is left but itself.
                Happening::Told(Some(packet)) => {
                    self.told = Said::read(&packet);
                    self.process_ended();
                }
                Happening::Told(None) => self.hears_first = false,
                Happening::Done(Some(packet)) => self.done(&packet),
                // The code has closed it, so nobody will know when it is done.
                Happening::Done(None) => {
                    self.hears_second = false;
                    child.first.signal(Signal::KILL);
                }
                Happening::Ended => self.process_ended(),
                Happening::TimeIsUp => self.time_is_up(),
                Happening::Exceeded(cause) => self.kill_because(cause),
            }
        }
        Ok(match self.leftover() {
            Some(event) => event,
            None => self.ended()?,
        })
    }

    /// Has the code asked to end.
    fn stop_because(&mut self, cause: EndCause) {
        if self.begins_to_end(cause) {
            self.signal(Signal::TERM);
        }
    }

    /// Has it ended at once: it has taken too much already.
    fn kill_because(&mut self, cause: EndCause) {
        if self.begins_to_end(cause) {
            self.signal(Signal::KILL);
        }
    }

    fn begins_to_end(&mut self, cause: EndCause) -> bool {
        let begins = self.cause == EndCause::Itself && self.end.is_none();
        if let (true, Some(holder)) = (begins, &self.holder) {
            self.cause = cause;
            self.timer = Instant::now() + GRACE;
            holder.confinement.loosen();
        }
        begins
    }

    fn time_is_up(&mut self) {
        match self.cause {
            EndCause::Itself => self.stop_because(EndCause::Deadline),
            _ => {
                self.timer = Instant::now() + GRACE;
                self.signal(Signal::KILL);
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(holder) = &self.holder {
            holder.child.first.signal(signal);
        }
    }

    /// Counts what was said, and ends code that says too much.
    fn said(&mut self, stream: Stream, bytes: Vec<u8>) -> Event {
        self.said += bytes.len() as u64;
        if self.said > self.limits.output_bytes {
            self.kill_because(EndCause::OutputLimit);
        }
        Event::Output(stream, bytes)
    }

    fn reported(&mut self, bytes: Option<Vec<u8>>) {
        match bytes {
            Some(bytes) if self.reported.len() <= MAX_REPORT_BYTES => self.reported.extend(bytes),
            _ => self.report = None,
        }
    }

    /// The code of a context has come to its end, or says so.
    fn done(&mut self, packet: &Packet) {
        // One that was told to end does, whatever it says.
        let Some(code) = Said::read(packet).done.filter(|_| self.cause == EndCause::Itself) else {
            return self.signal(Signal::KILL);
        };
        let Some(holder) = self.holder.take() else {
            return;
        };
        self.end = Some(self.exit(&holder, Some(code), None));
        if let Some(seat) = self.seat.take() {
            seat.keep(holder);
        }
    }

    /// All its processes have ended.
    fn process_ended(&mut self) {
        let Some(holder) = self.holder.take() else {
            return;
        };
        // Where its end was seen first, its last words may still be on their way to us.
        if let Some(packet) = holder.child.channel.received_already() {
            self.told = Said::read(&packet);
        }
        let (code, mut signal) = (self.told.code, self.told.signal);
        if code.is_none() && signal.is_none() {
            signal = Some(Signal::KILL.as_raw());
        }
        self.end = Some(self.exit(&holder, code, signal));
    }

    fn exit(&self, holder: &Holder, code: Option<i32>, signal: Option<i32>) -> Exit {
        let confinement = &holder.confinement;
        let ended_by_kernel =
            self.cause == EndCause::Itself && code != Some(0) && confinement.ran_out_of_memory();
        Exit {
            code,
            signal,
            duration: self.started.elapsed(),
            cause: if ended_by_kernel {
                EndCause::MemoryLimit
            } else {
                self.cause
            },
            usage: confinement.usage(),
        }
    }

    /// What was said before the end and not read yet. What somebody may still hold open is not waited for.
    fn leftover(&mut self) -> Option<Event> {
        for (stream, pipe) in [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ] {
            match read_now(pipe) {
                Some(bytes) => return Some(Event::Output(stream, bytes)),
                None => *pipe = None,
            }
        }
        while let Some(bytes) = read_now(&mut self.report) {
            self.reported(Some(bytes));
        }
        None
    }

    fn ended(&mut self) -> Result<Event, CommandError> {
        let Some(exit) = self.end else {
            let program = self.program.clone();
            return Err(CommandError::Lost { program });
        };
        if let Some(outcome) = self.outcome.take() {
            // The next call finds a child ready, and this one has not waited for that.
            let zygote = Arc::clone(&self.zygote);
            tokio::spawn(async move { zygote.have_spare().await });
            // Whoever does not want to know has dropped the other end.
            let _ = outcome.send(Outcome {
                report: Report::read(&self.reported),
                context_ended: self.seat.take().is_some(),
            });
        }
        Ok(Event::Ended(exit))
    }
}
