//! The task that a run is: the turn to change the tree, the command, and what is left to be done after it.

use std::path::PathBuf;
use std::sync::Arc;

use agentyard_model::{Caller, Permission};
use agentyard_sandbox::{
    Access, Command, CommandError, EndCause, Event, Exit, Limits, Mount, Network, Running, Sandbox, Stream,
};
use tokio::sync::Semaphore;
use tracing::{Instrument as _, Span};

use super::Plan;
use super::decoder::Decoder;
use super::log::{RunEnd, RunHappening};
use super::run::Run;
use crate::error::{Error, ErrorKind, Result};
use crate::places::{Held, Places};
use crate::progress::Progress;

/// Where a command sees the tree it works in.
const WORKSPACE: &str = "/workspace";

/// What a run needs.
pub(super) struct Performance {
    pub(super) run: Arc<Run>,
    pub(super) caller: Caller,
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) plan: Plan,
    pub(super) places: Places,
    pub(super) running: Arc<Semaphore>,
    pub(super) limits: Limits,
}

impl Performance {
    /// Runs it to its end, and tells that as the last thing.
    pub(super) async fn perform(self) {
        let run = Arc::clone(&self.run);
        // In a task of its own, so that even a panic is an end that is told.
        let performed = tokio::spawn(self.performed().instrument(Span::current())).await;
        let end = performed.unwrap_or_else(|error| Err(Error::internal("running the command", error)));
        run.tell(match end {
            Ok(end) => RunHappening::Complete(end),
            Err(error) => {
                // Those who wait are told without the cause.
                if error.kind() == ErrorKind::Internal {
                    tracing::error!(run = %run.id, error = error.chain(), "a run failed");
                }
                RunHappening::Failed(Arc::new(error))
            }
        });
    }

    async fn performed(self) -> Result<RunEnd> {
        let run = Arc::clone(&self.run);
        let prepared = async {
            let held = self.take_turn().await?;
            let place = Arc::clone(&self.running).acquire_owned();
            let place = self.telling("waiting for other runs to end", place).await;
            Ok::<_, Error>((held, place))
        };
        let (held, _place) = tokio::select! {
            prepared = prepared => prepared?,
            () = run.abandoned() => return Err(Error::new(ErrorKind::Unavailable, "nobody waited for it any more")),
        };
        let end = self.run_in(&held).await;
        held.done(end.as_ref().is_ok_and(|end| end.exit_code == Some(0)))
            .await;
        end
    }

    /// Waits for the turn to change the tree, and tells meanwhile what it waits for.
    async fn take_turn(&self) -> Result<Held> {
        let (progress, mut steps) = Progress::watched();
        let (place, operation) = (&self.plan.place, self.plan.operation);
        let taking = self
            .places
            .hold(&self.caller, place, Permission::AgentRun, operation, &progress);
        tokio::pin!(taking);
        self.progress("preparing workspace");
        loop {
            tokio::select! {
                held = &mut taking => return held,
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

    async fn run_in(&self, held: &Held) -> Result<RunEnd> {
        let (tree, below) = (held.tree.clone(), self.plan.directory.clone());
        if let Some(below) = below {
            // Whether it is there, and a directory: said here, it says which one.
            let turnstile = self.places.turnstile();
            turnstile.pass(move |_| tree.beneath(&below).map(drop)).await?;
        }
        let opened = held.tree.directory().try_clone_to_owned();
        let workspace = Mount {
            source: opened.map_err(|error| Error::internal("opening the directory to run in", error))?,
            host_path: held.tree.path().to_owned(),
            at: PathBuf::from(WORKSPACE),
            access: Access::ReadWrite,
        };
        let command = Command {
            program: self.plan.program.clone(),
            arguments: self.plan.arguments.clone(),
            directory: match &self.plan.directory {
                None => workspace.at.clone(),
                Some(below) => workspace.at.join(below),
            },
            hidden: vec![workspace.at.join(".git")],
            mounts: vec![workspace],
            environment: self.plan.environment.clone(),
            input: self.plan.input.clone(),
            network: Network::None,
            limits: Limits {
                duration: self.plan.timeout,
                ..self.limits
            },
        };
        self.progress(&format!("running {}", self.plan.program));
        let running = self.sandbox.start(command).await.map_err(from_sandbox)?;
        Ok(ended(self.watch(running).await.map_err(from_sandbox)?))
    }

    async fn watch(&self, mut running: Running) -> Result<Exit, CommandError> {
        let (mut stdout, mut stderr) = (Decoder::default(), Decoder::default());
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

    fn say(&self, stream: Stream, text: String) {
        if !text.is_empty() {
            self.run.tell(RunHappening::said(stream, text));
        }
    }

    fn progress(&self, message: &str) {
        self.run.tell(RunHappening::Progress {
            done: 0,
            total: None,
            message: message.to_owned(),
        });
    }
}

fn ended(exit: Exit) -> RunEnd {
    RunEnd {
        exit_code: exit.code,
        signal: exit.signal,
        duration: exit.duration,
        timed_out: exit.cause == EndCause::Deadline,
        cancelled: exit.cause == EndCause::Stopped,
        output_limit: exit.cause == EndCause::OutputLimit,
    }
}

fn from_sandbox(error: CommandError) -> Error {
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
        CommandError::Lost { .. } => Error::new(ErrorKind::Unavailable, error.to_string())
            .hint("the command killed it, or the machine ran out of memory"),
        CommandError::Prepare(_) => Error::internal("starting the command", error),
    }
}
