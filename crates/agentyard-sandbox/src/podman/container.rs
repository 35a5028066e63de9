//! A container that runs, and the guard that takes it away.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use rustix::process::Pid;
use tokio::io::ReadHalf;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, sleep, sleep_until};

use super::api::ApiError;
use super::inside::Inside;
use super::output::Output;
use super::service::Service;
use super::usage::Meter;
use crate::command::{CommandError, EndCause, Event, Exit, Limits, Stream};
use crate::egress::{Denied, Serving};
use crate::sandbox::{Awaited, Process};
use crate::standing::Load;
use crate::watch::Watch;

/// How long a command has to end once it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long podman has to notice that a container was killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long what was said may still take to arrive after the end.
const DRAIN: Duration = Duration::from_secs(2);

/// How often it is tried to remove a container.
const REMOVALS: usize = 3;

/// How often a container is asked to stand still. On a busy machine the kernel may need longer for that than what podman
/// calls waits for it.
const PAUSING_TRIES: usize = 5;

/// How long it is let alone in between.
const BREATH: Duration = Duration::from_millis(100);

/// How often it is looked at what a container takes.
const SAMPLES: Duration = Duration::from_millis(100);

/// Podman tells how a program ended by one number, in which signals come after all codes that programs use for themselves.
const FIRST_SIGNAL: i64 = 128;

/// The signals that end programs. Other numbers in their range are codes.
const DEADLY_SIGNALS: &[i64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31];

/// A container that was made. Dropping this removes it, running or not.
#[derive(Debug)]
pub(super) struct Container {
    service: Arc<Service>,
    name: String,
}

/// What becomes of a container that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// It is removed.
    Removed,
    /// It stays until it is dropped, so that an image can be made of it.
    Kept,
}

/// A container that runs.
#[derive(Debug)]
pub(super) struct Contained {
    program: String,
    container: Option<Container>,
    afterwards: Afterwards,
    inside: Inside,
    /// Its first process, as this machine numbers it.
    first: Pid,
    watch: Watch,
    meter: Meter,
    samples: Interval,
    output: Option<Output<ReadHalf<TokioIo<Upgraded>>>>,
    waiting: Option<JoinHandle<Result<i64, ApiError>>>,
    /// The number that podman told when it ended.
    ended_with: Option<i64>,
    limits: Limits,
    said: u64,
    started: Instant,
    /// When the next thing must have happened.
    timer: Instant,
    cause: EndCause,
    was_killed: bool,
    /// Its way out.
    serving: Option<Serving>,
}

/// What a container is made of that is about to run.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) program: String,
    pub(super) limits: Limits,
    pub(super) container: Container,
    pub(super) afterwards: Afterwards,
    pub(super) inside: Inside,
    pub(super) first: Pid,
    pub(super) watch: Watch,
    pub(super) meter: Meter,
    pub(super) output: ReadHalf<TokioIo<Upgraded>>,
    pub(super) serving: Option<Serving>,
}

impl Container {
    pub(super) fn new(service: Arc<Service>, name: String) -> Self {
        Self { service, name }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    /// What is asked to have something done to it.
    fn call(&self, what: &str) -> (Arc<Service>, String) {
        (
            Arc::clone(&self.service),
            format!("/containers/{}/{what}", self.name),
        )
    }

    /// Sends a signal in the background; whether it arrived is seen by what happens.
    fn signal(&self, signal: &'static str) {
        let service = Arc::clone(&self.service);
        let path = format!("/containers/{}/kill?signal={signal}", self.name);
        tokio::spawn(async move { service.api.post(&path, None).await });
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let service = Arc::clone(&self.service);
        let path = format!("/containers/{}?force=true&v=true&timeout=0", self.name);
        // Without a runtime the server is about to end; podman ends with it, and the next server sweeps.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // One that is not there may be just about to be: whoever asked for it was dropped on the way.
                for _ in 0..REMOVALS {
                    if service.api.delete(&path).await.is_ok() {
                        break;
                    }
                    sleep(GRACE).await;
                }
            });
        }
    }
}

impl Contained {
    /// Watches a container that was started just now.
    pub(super) fn new(parts: Parts) -> Self {
        let service = Arc::clone(&parts.container.service);
        let path = format!(
            "/containers/{}/wait?condition=exited&interval=20ms",
            parts.container.name
        );
        let limit = parts.limits.duration + GRACE + PATIENCE + PATIENCE;
        let waiting = tokio::spawn(async move {
            let answer = service.api.post_for(&path, limit).await?;
            answer
                .as_i64()
                .ok_or_else(|| ApiError::Broken("it told no exit code".to_owned()))
        });
        let started = Instant::now();
        Self {
            program: parts.program,
            container: Some(parts.container),
            afterwards: parts.afterwards,
            inside: parts.inside,
            first: parts.first,
            watch: parts.watch,
            meter: parts.meter,
            samples: tokio::time::interval(SAMPLES),
            output: Some(Output::new(parts.output)),
            waiting: Some(waiting),
            ended_with: None,
            limits: parts.limits,
            said: 0,
            started,
            timer: started + parts.limits.duration,
            cause: EndCause::Itself,
            was_killed: false,
            serving: parts.serving,
        }
    }

    /// The container itself, for as long as it is there.
    pub(super) fn container(&self) -> Option<&Container> {
        self.container.as_ref()
    }

    pub(super) async fn next_event(&mut self) -> Result<Event, CommandError> {
        loop {
            if let (Some(number), None) = (self.ended_with, &self.output) {
                return Ok(Event::Ended(self.finish(number)));
            }
            tokio::select! {
                piece = next_piece(&mut self.output) => match piece {
                    Ok(Some((stream, bytes))) => return Ok(self.said(stream, bytes)),
                    Ok(None) | Err(_) => {
                        self.meter.read();
                        self.output = None;
                    }
                },
                ended = wait(&mut self.waiting) => match ended {
                    Some(number) => {
                        self.waiting = None;
                        self.ended_with = Some(number);
                        self.timer = Instant::now() + DRAIN;
                    }
                    None => return Err(self.lose()),
                },
                _ = self.samples.tick() => {
                    self.meter.read();
                }
                cause = self.watch.exceeded(self.first), if self.cause == EndCause::Itself => {
                    self.stop_because(cause);
                }
                () = sleep_until(self.timer) => self.time_is_up()?,
            }
        }
    }

    /// Ends it at once, also when it is paused.
    pub(super) fn kill(&mut self) {
        if self.cause == EndCause::Itself {
            self.cause = EndCause::Stopped;
        }
        self.was_killed = true;
        self.timer = Instant::now() + PATIENCE;
        self.inside.kill();
        if let Some(container) = &self.container {
            let (service, path) = container.call("unpause");
            // One that does not stand still says so, and nobody has to know.
            tokio::spawn(async move { service.api.post(&path, None).await });
        }
    }

    /// Has everybody inside stop where they are, or go on.
    pub(super) fn pause(&self, is_paused: bool) -> impl Future<Output = Result<(), ApiError>> + Send + use<> {
        let what = if is_paused { "pause" } else { "unpause" };
        let call = self.container.as_ref().map(|container| container.call(what));
        async move {
            let gone = || ApiError::Broken("the container is gone".to_owned());
            let (service, path) = call.ok_or_else(gone)?;
            let mut tries = 1;
            loop {
                match service.api.post(&path, None).await {
                    Err(error @ ApiError::Refused { .. }) if !error.is_missing() && tries < PAUSING_TRIES => {
                        tries += 1;
                    }
                    answered => return answered.map(drop),
                }
                sleep(BREATH).await;
            }
        }
    }

    /// What it takes at the moment, but for disks.
    pub(super) fn load(&mut self) -> Load {
        self.meter.load()
    }

    /// Its way out, if it has one.
    pub(super) fn serving(&self) -> Option<&Serving> {
        self.serving.as_ref()
    }

    /// Counts what was said, and ends a command that says too much.
    fn said(&mut self, stream: Stream, bytes: Vec<u8>) -> Event {
        self.said += bytes.len() as u64;
        if self.said > self.limits.output_bytes {
            self.stop_because(EndCause::OutputLimit);
        }
        Event::Output(stream, bytes)
    }

    fn stop_because(&mut self, cause: EndCause) {
        if self.cause == EndCause::Itself && self.ended_with.is_none() {
            self.cause = cause;
            self.timer = Instant::now() + GRACE;
            if let Some(container) = &self.container {
                container.signal("TERM");
            }
        }
    }

    fn time_is_up(&mut self) -> Result<(), CommandError> {
        if self.ended_with.is_some() {
            self.output = None;
        } else if self.cause == EndCause::Itself {
            self.stop_because(EndCause::Deadline);
        } else if self.was_killed {
            return Err(self.lose());
        } else {
            self.was_killed = true;
            self.inside.kill();
            self.timer = Instant::now() + PATIENCE;
        }
        Ok(())
    }

    fn finish(&mut self, number: i64) -> Exit {
        let duration = self.started.elapsed();
        let usage = self.meter.read();
        if self.cause == EndCause::Itself && number != 0 && self.meter.ran_out_of_memory() {
            self.cause = EndCause::MemoryLimit;
        }
        if self.afterwards == Afterwards::Removed {
            self.container = None;
        }
        let (code, signal) = code_and_signal(number);
        Exit {
            code,
            signal,
            duration,
            cause: self.cause,
            usage,
        }
    }

    /// Nobody tells any more how it goes: it is ended from here.
    fn lose(&mut self) -> CommandError {
        self.inside.kill();
        self.container = None;
        CommandError::Lost {
            program: self.program.clone(),
        }
    }
}

impl Process for Contained {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        Box::pin(self.next_event())
    }

    fn stop(&mut self) {
        self.stop_because(EndCause::Stopped);
    }

    fn denied(&self) -> Vec<Denied> {
        self.serving.as_ref().map(Serving::denied).unwrap_or_default()
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        // At once, and not only when podman comes round to it.
        self.inside.kill();
        if let Some(waiting) = &self.waiting {
            waiting.abort();
        }
    }
}

/// A command that could not be started, which is told when somebody asks.
#[derive(Debug)]
pub(super) struct Unstarted(pub(super) Option<CommandError>, pub(super) String);

impl Process for Unstarted {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        let program = self.1.clone();
        let error = self.0.take().unwrap_or(CommandError::Lost { program });
        Box::pin(std::future::ready(Err(error)))
    }

    fn stop(&mut self) {}
}

/// The next piece of output. Without any it never comes.
async fn next_piece(
    output: &mut Option<Output<ReadHalf<TokioIo<Upgraded>>>>,
) -> io::Result<Option<(Stream, Vec<u8>)>> {
    match output {
        Some(output) => output.next().await,
        None => std::future::pending().await,
    }
}

/// The number that podman tells at the end; `None` when it will not.
async fn wait(waiting: &mut Option<JoinHandle<Result<i64, ApiError>>>) -> Option<i64> {
    match waiting {
        Some(waiting) => waiting.await.ok()?.ok(),
        None => std::future::pending().await,
    }
}

fn code_and_signal(number: i64) -> (Option<i32>, Option<i32>) {
    let small = |number: i64| i32::try_from(number).ok();
    if DEADLY_SIGNALS.contains(&(number - FIRST_SIGNAL)) {
        (None, small(number - FIRST_SIGNAL))
    } else {
        (small(number), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_codes_or_signals() {
        assert_eq!(code_and_signal(0), (Some(0), None));
        assert_eq!(code_and_signal(128), (Some(128), None));
        assert_eq!(code_and_signal(137), (None, Some(9)));
        assert_eq!(code_and_signal(255), (Some(255), None));
    }
}
