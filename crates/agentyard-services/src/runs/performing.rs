//! The task that a run is: the turn to change the tree, the command, and what is left to be done after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentyard_model::{Caller, Clock, Permission, Secret, SecretName};
use agentyard_sandbox::{Command, CommandError, EndCause, Event, Exit, Limits, Running, Sandbox, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::{Instrument as _, Span};

use super::Plan;
use super::decoder::Decoder;
use super::log::{RunEnd, RunHappening};
use super::recording::Recorded;
use super::run::Run;
use crate::error::{Error, ErrorKind, Result};
use crate::executions::Executions;
use crate::masking::{Mask, Masking};
use crate::places::{Held, Place, Places, WORKSPACE};
use crate::progress::{Progress, Step};
use crate::secrets::Secrets;

/// What the body of a run works with.
pub(crate) struct Stage {
    pub(super) run: Arc<Run>,
    pub(super) caller: Caller,
    pub(super) places: Places,
    pub(super) running: Arc<Semaphore>,
    pub(super) executions: Executions,
    pub(super) clock: Clock,
}

/// Runs a body to its end, and tells that as the last thing.
pub(super) async fn perform<T, Body>(run: Arc<Run>, body: Body)
where
    T: Send + Sync + 'static,
    Body: Future<Output = Result<(RunEnd, T)>> + Send + 'static,
{
    // In a task of its own, so that even a panic is an end that is told.
    let performed = tokio::spawn(body.instrument(Span::current())).await;
    let end = performed.unwrap_or_else(|error| Err(Error::internal("running the command", error)));
    run.tell(match end {
        Ok((end, result)) => {
            run.set_result(Arc::new(result));
            RunHappening::Complete(end)
        }
        Err(error) => {
            // Those who wait are told without the cause.
            if error.kind() == ErrorKind::Internal {
                tracing::error!(run = %run.id, error = error.chain(), "a run failed");
            }
            RunHappening::Failed(Arc::new(error))
        }
    });
}

/// Runs a command in its tree.
pub(super) async fn perform_command(
    mut plan: Plan,
    stage: Stage,
    sandbox: Arc<dyn Sandbox>,
    limits: Limits,
    secrets: Secrets,
) -> Result<(RunEnd, ())> {
    let granted = secrets.granted(&stage.caller, &plan.secrets).await?;
    let mask = Mask::new(&granted)?;
    plan.grant(&granted);
    let held = stage.hold(&plan.place, plan.operation).await?;
    let _place = stage.place_to_run().await?;
    let recorded = Recorded {
        operation: plan.operation,
        code: mask.text(&command_line(&plan)),
        place: held.name(),
        environment: None,
        backend: sandbox.backend(),
        network: plan.network,
        started_at: stage.clock.now(),
    };
    let end = run_in(&plan, &stage, sandbox.as_ref(), limits, &held, &mask).await;
    stage.record(recorded, &end, None).await;
    held.done(end.as_ref().is_ok_and(|end| end.exit_code == Some(0)))
        .await;
    Ok((end?, ()))
}

async fn run_in(
    plan: &Plan,
    stage: &Stage,
    sandbox: &dyn Sandbox,
    limits: Limits,
    held: &Held,
    mask: &Mask,
) -> Result<RunEnd> {
    if let Some(below) = &plan.directory {
        stage.check_directory(held, below).await?;
    }
    let room = held.room(sandbox.backend()).await?;
    let command = Command {
        program: plan.program.clone(),
        arguments: plan.arguments.clone(),
        directory: inside(plan.directory.as_deref()),
        hidden: room.hidden,
        mounts: room.mounts,
        environment: plan.environment.clone(),
        input: plan.input.clone(),
        network: plan.network,
        limits: Limits {
            duration: plan.timeout,
            ..limits
        },
    };
    stage.progress(&format!("running {}", plan.program));
    let running = sandbox.start(command).await.map_err(from_sandbox)?;
    stage.watch(running, mask).await
}

impl Plan {
    /// Puts secrets into the environment, in the place of what else has their names.
    fn grant(&mut self, secrets: &[(SecretName, Secret)]) {
        let is_secret = |name: &str| secrets.iter().any(|(secret, _)| secret.as_str() == name);
        self.environment.retain(|(name, _)| !is_secret(name));
        let secrets = secrets
            .iter()
            .map(|(name, secret)| (name.to_string(), secret.expose().to_owned()));
        self.environment.extend(secrets);
    }
}

/// A command as it is written, with its words told apart.
fn command_line(plan: &Plan) -> String {
    let words = std::iter::once(&plan.program).chain(&plan.arguments);
    let words: Vec<String> = words
        .map(|word| {
            let is_plain =
                !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c));
            if is_plain {
                word.clone()
            } else {
                format!("{word:?}")
            }
        })
        .collect();
    words.join(" ")
}

/// Where a command sees a directory below the tree.
pub(crate) fn inside(directory: Option<&Path>) -> PathBuf {
    let top = Path::new(WORKSPACE);
    directory.map_or_else(|| top.to_owned(), |below| top.join(below))
}

impl Stage {
    /// Who started the run.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The turn to change a tree.
    ///
    /// # Errors
    /// When the caller may not run anything there, or nobody wants the run any more.
    pub(crate) async fn hold(&self, place: &Place, operation: &'static str) -> Result<Held> {
        self.unless_abandoned(self.take_turn(place, operation)).await?
    }

    /// A place among those that run at once.
    ///
    /// # Errors
    /// When nobody wants the run any more.
    pub(crate) async fn place_to_run(&self) -> Result<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.running).acquire_owned();
        let place = self.telling("waiting for other runs to end", place);
        let place = self.unless_abandoned(place).await?;
        place.map_err(|error| Error::internal("waiting for other runs to end", error))
    }

    /// Waits for something, for as long as somebody wants the run.
    pub(crate) async fn unless_abandoned<T>(&self, waiting: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            done = waiting => Ok(done),
            () = self.run.abandoned() => {
                Err(Error::new(ErrorKind::Unavailable, "nobody waited for it any more"))
            }
        }
    }

    /// Whether a directory below the tree is there, and one: said here, it says which one.
    pub(crate) async fn check_directory(&self, held: &Held, below: &Path) -> Result<()> {
        let (tree, below) = (held.tree.clone(), below.to_owned());
        let turnstile = self.places.turnstile();
        turnstile.pass(move |_| tree.beneath(&below).map(drop)).await
    }

    /// Waits for the turn to change the tree, and tells meanwhile what it waits for.
    async fn take_turn(&self, place: &Place, operation: &'static str) -> Result<Held> {
        let (progress, steps) = Progress::watched();
        let taking = self
            .places
            .hold(&self.caller, place, Permission::AgentRun, operation, &progress);
        self.progress("preparing workspace");
        self.relaying(steps, taking).await
    }

    /// Waits for something, and tells meanwhile which steps it takes.
    pub(crate) async fn relaying<T>(
        &self,
        mut steps: watch::Receiver<Step>,
        working: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(working);
        loop {
            tokio::select! {
                done = &mut working => return done,
                Ok(()) = steps.changed() => {
                    let step = steps.borrow_and_update().clone();
                    self.run.tell(RunHappening::Progress {
                        done: step.done,
                        total: step.total,
                        message: step.message,
                    });
                }
            }
        }
    }

    /// Waits for something, and tells that it does when it is not there at once.
    async fn telling<T>(&self, message: &str, waiting: impl Future<Output = T>) -> T {
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            done = &mut waiting => return done,
            () = std::future::ready(()) => self.progress(message),
        }
        waiting.await
    }

    /// Watches a command to its end, and tells what it says, but for secrets.
    ///
    /// # Errors
    /// When it could not be started, or nobody looks after it any more.
    pub(crate) async fn watch(&self, running: Running, mask: &Mask) -> Result<RunEnd> {
        let exit = self.watched(running, mask).await.map_err(from_sandbox)?;
        Ok(ended(exit))
    }

    async fn watched(&self, mut running: Running, mask: &Mask) -> Result<Exit, CommandError> {
        let (mut stdout, mut stderr) = (Said::new(mask), Said::new(mask));
        let abandoned = self.run.abandoned();
        tokio::pin!(abandoned);
        let mut stopped = false;
        let exit = loop {
            let event = tokio::select! {
                event = running.next() => event,
                () = &mut abandoned, if !stopped => {
                    running.stop();
                    stopped = true;
                    continue;
                }
            };
            match event? {
                Event::Output(Stream::Stdout, bytes) => self.say(Stream::Stdout, stdout.push(&bytes)),
                Event::Output(Stream::Stderr, bytes) => self.say(Stream::Stderr, stderr.push(&bytes)),
                Event::Ended(exit) => break exit,
            }
        };
        self.say(Stream::Stdout, stdout.finish());
        self.say(Stream::Stderr, stderr.finish());
        Ok(exit)
    }

    /// Tells what was said.
    pub(crate) fn say(&self, stream: Stream, text: String) {
        if !text.is_empty() {
            self.run.tell(RunHappening::said(stream, text));
        }
    }

    /// Tells what is being done.
    pub(crate) fn progress(&self, message: &str) {
        self.run.tell(RunHappening::Progress {
            done: 0,
            total: None,
            message: message.to_owned(),
        });
    }
}

/// What is said on a stream, as text without secrets.
struct Said {
    decoder: Decoder,
    masking: Masking,
}

impl Said {
    fn new(mask: &Mask) -> Self {
        Self {
            decoder: Decoder::default(),
            masking: mask.stream(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> String {
        self.masking.push(&self.decoder.push(bytes))
    }

    fn finish(&mut self) -> String {
        let rest = self.masking.push(&self.decoder.finish());
        rest + &self.masking.finish()
    }
}

/// How a run ended whose command did so.
pub(crate) fn ended(exit: Exit) -> RunEnd {
    RunEnd {
        exit_code: exit.code,
        signal: exit.signal,
        duration: exit.duration,
        timed_out: exit.cause == EndCause::Deadline,
        cancelled: exit.cause == EndCause::Stopped,
        output_limit: exit.cause == EndCause::OutputLimit,
        memory_limit: exit.cause == EndCause::MemoryLimit,
        disk_limit: exit.cause == EndCause::DiskLimit,
        usage: exit.usage,
    }
}

pub(crate) fn from_sandbox(error: CommandError) -> Error {
    match error {
        CommandError::Start { program, source } => {
            let shown = program.escape_debug();
            match source.kind() {
                std::io::ErrorKind::NotFound => Error::not_found(format!("there is no program `{shown}`"))
                    .hint("`env` lists the tools that are installed; a script of the tree is called as `./name`"),
                _ => Error::invalid(format!("`{shown}` cannot be started: {source}")),
            }
        }
        CommandError::Refused { reason, remedy } => Error::new(
            ErrorKind::Unavailable,
            format!("the command was not run: {reason}"),
        )
        .hint(remedy),
        CommandError::Remote { reason, remedy } => Error::new(ErrorKind::Unavailable, reason).hint(remedy),
        CommandError::Lost { .. } => Error::new(ErrorKind::Unavailable, error.to_string())
            .hint("the command killed it, or the machine ran out of memory"),
        CommandError::Prepare(_) => Error::internal("starting the command", error),
    }
}
