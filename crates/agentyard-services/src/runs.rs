//! Runs: commands that callers start in their trees, watch, leave and come back to.
//!
//! A run is a task of its own that takes the turn to change its tree, runs the command and writes down what happened
//! as numbered events ([`log`]). Callers attend it: they wait for its end, follow its events, or both, several at once. A
//! run that nobody attends any more is ended.

mod attending;
mod captured;
mod commands;
mod decoder;
mod log;
mod making;
mod performing;
mod plain;
mod recording;
mod run;
mod spool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentyard_model::{Caller, Clock, Permission, RunId, SecretName};
use agentyard_sandbox::{Interpreters, Limits, Network, Sandbox, Stream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use crate::error::{Error, ErrorKind, Result};
use crate::executions::Executions;
use crate::places::{Place, Places};
use crate::progress::Progress;
use crate::secrets::Secrets;
pub use attending::{Followed, Following, RunAnswer, Waiting};
pub use captured::Captured;
pub use commands::CommandRequest;
pub(crate) use commands::{MAX_WORDS, check_text, check_variables, input_of};
pub use log::{RunEnd, RunEvent, RunHappening};
pub use making::MakeRequest;
pub(crate) use performing::{Stage, ended, from_sandbox, inside};
pub use plain::PlainText;
pub(crate) use recording::Recorded;
use run::{Attendance, Run};
pub use spool::RunOutput;

/// How long the events of a run are kept after its end.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// How many runs that have ended are kept.
const KEPT_RUNS: usize = 32;

/// How many runs there may be that have not ended, waiting ones included.
const MAX_RUNS: usize = 256;

/// Runs.
pub struct Runs {
    settings: RunSettings,
    places: Places,
    secrets: Secrets,
    executions: Executions,
    clock: Clock,
    running: Arc<Semaphore>,
    known: Mutex<BTreeMap<RunId, Arc<Run>>>,
}

/// How commands are run.
pub struct RunSettings {
    /// Where they are run; without this, they are refused.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// The environment of every command.
    pub environment: Vec<(String, String)>,
    /// How long a command may run, and how long it does when a call does not say.
    pub timeout: Duration,
    /// The same of code.
    pub code_timeout: Duration,
    /// What a command may take; of its time, see above.
    pub limits: Limits,
    /// The most network that a call may ask for.
    pub network: Network,
    /// How many run at once; others wait.
    pub at_once: usize,
    /// How long a run goes on when the last one who followed it has left.
    pub linger: Duration,
    /// Python interpreters that have started already, where there are any.
    pub interpreters: Option<Interpreters>,
}

/// A command as it will be run, once everything that a caller said was found right.
struct Plan {
    /// The operation that was called.
    operation: &'static str,
    place: Place,
    program: String,
    arguments: Vec<String>,
    /// Below the tree, when not in its top.
    directory: Option<PathBuf>,
    environment: Vec<(String, String)>,
    input: Vec<u8>,
    network: Network,
    secrets: Vec<SecretName>,
    timeout: Duration,
}

impl Runs {
    pub(crate) fn new(
        settings: RunSettings,
        places: Places,
        secrets: Secrets,
        executions: Executions,
        clock: Clock,
    ) -> Self {
        Self {
            secrets,
            executions,
            clock,
            running: Arc::new(Semaphore::new(settings.at_once.clamp(1, MAX_RUNS))),
            settings,
            places,
            known: Mutex::default(),
        }
    }

    /// Follows the events of a run, from the one after `after` on; without that, from the first that is still kept.
    /// It goes on for as long as somebody does.
    ///
    /// # Errors
    /// When there is no such run, or it is not the caller's to see.
    pub fn follow(&self, caller: &Caller, run: RunId, after: Option<u64>) -> Result<Following> {
        let run = self.find(caller, run)?;
        if caller.subject != run.subject {
            caller.require(Permission::ProjectRead)?;
        }
        Ok(Following::new(
            run,
            after.unwrap_or_default(),
            self.settings.linger,
        ))
    }

    /// Ends all runs, and waits for that: the process ends.
    pub(crate) async fn end_all(&self) {
        let runs: Vec<Arc<Run>> = self.known().values().cloned().collect();
        for run in &runs {
            run.abandon();
        }
        for run in runs {
            run.ended().await;
        }
    }

    /// A part of what a run said on a stream, from a byte on.
    ///
    /// # Errors
    /// When there is no such run, or it is not the caller's to see.
    pub fn output(
        &self,
        caller: &Caller,
        run: RunId,
        stream: Stream,
        offset: u64,
        most: usize,
    ) -> Result<RunOutput> {
        let run = self.find(caller, run)?;
        if caller.subject != run.subject {
            caller.require(Permission::ProjectRead)?;
        }
        // Asked first: what is said meanwhile is read too.
        let is_complete = run.ended_at().is_some();
        let read = run.spool().read(stream, offset, most, is_complete);
        read.map_err(|error| Error::internal("reading what a run said", error))
    }

    /// Runs a command, unless it is one that was started before, and waits for its end for a while.
    async fn attend(
        &self,
        caller: &Caller,
        waiting: Waiting,
        plan: impl FnOnce() -> Result<Plan>,
        progress: &Progress,
    ) -> Result<RunAnswer> {
        let body = || {
            let (plan, sandbox, limits) = (plan()?, self.sandbox()?, self.settings.limits);
            let secrets = self.secrets.clone();
            Ok(move |stage| performing::perform_command(plan, stage, sandbox, limits, secrets))
        };
        let (answer, _) = self
            .attend_with::<(), _, _>(caller, waiting, body, progress)
            .await?;
        Ok(answer)
    }

    /// Starts a run that does whatever its body does, unless it is one that was started before, and waits for its end
    /// for a while. What came of it comes with its end.
    ///
    /// # Errors
    /// When the caller may not run anything, there is no such run, or it failed.
    pub(crate) async fn attend_with<T, Body, Performing>(
        &self,
        caller: &Caller,
        waiting: Waiting,
        body: impl FnOnce() -> Result<Body>,
        progress: &Progress,
    ) -> Result<(RunAnswer, Option<Arc<T>>)>
    where
        T: Send + Sync + 'static,
        Body: FnOnce(Stage) -> Performing,
        Performing: Future<Output = Result<(RunEnd, T)>> + Send + 'static,
    {
        caller.require(Permission::AgentRun)?;
        // Who leaves in the middle of waiting does not come back.
        let attendance = match waiting.run {
            Some(run) => Attendance::new(self.find(caller, run)?, Duration::ZERO),
            None => self.start(caller, body()?)?,
        };
        let run = Arc::clone(&attendance.run);
        let answer = attending::wait(attendance, waiting, progress).await?;
        Ok((answer, run.result()))
    }

    fn start<T, Performing>(
        &self,
        caller: &Caller,
        body: impl FnOnce(Stage) -> Performing,
    ) -> Result<Attendance>
    where
        T: Send + Sync + 'static,
        Performing: Future<Output = Result<(RunEnd, T)>> + Send + 'static,
    {
        let attendance = Run::started_by(caller, self.places.data().to_owned());
        let run = &attendance.run;
        let mut known = self.known();
        tidy(&mut known);
        if known.values().filter(|run| run.ended_at().is_none()).count() >= MAX_RUNS {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("starting a run: there are {MAX_RUNS} already"),
            )
            .hint("wait until some of them have ended"));
        }
        known.insert(run.id, Arc::clone(run));
        drop(known);
        let stage = Stage {
            run: Arc::clone(run),
            caller: caller.clone(),
            places: self.places.clone(),
            running: Arc::clone(&self.running),
            executions: self.executions.clone(),
            clock: self.clock.clone(),
        };
        // The run does not end with the call that started it, so it has a task of its own.
        let performing = performing::perform(Arc::clone(run), body(stage));
        tokio::spawn(performing.instrument(Span::current()));
        Ok(attendance)
    }

    /// Where commands are run.
    ///
    /// # Errors
    /// When none are.
    pub(crate) fn sandbox(&self) -> Result<Arc<dyn Sandbox>> {
        self.settings.sandbox.clone().ok_or_else(no_sandbox)
    }

    /// Lets the sandbox keep ready what commands will want. Nobody has to wait for it.
    pub(crate) async fn warm_up_sandbox(&self) {
        let Some(sandbox) = &self.settings.sandbox else {
            return;
        };
        if let Err(error) = sandbox.warm_up().await {
            tracing::warn!(%error, "no sandboxes can be kept ready now; it is tried again, and meanwhile commands fail for this reason");
        }
    }

    /// Takes down what the sandbox keeps ready. To be called before a process ends, when no command runs any more.
    pub(crate) async fn end_sandbox(&self) {
        if let Some(sandbox) = &self.settings.sandbox {
            sandbox.end().await;
        }
    }

    /// What a command may take; its time is for its caller to say.
    pub(crate) fn limits(&self) -> Limits {
        self.settings.limits
    }

    fn find(&self, caller: &Caller, run: RunId) -> Result<Arc<Run>> {
        let mut known = self.known();
        tidy(&mut known);
        known
            .get(&run)
            .filter(|found| found.tenant == caller.tenant)
            .cloned()
            .ok_or_else(|| {
                Error::not_found(format!("there is no run `{run}`")).hint(format!(
                    "the last {KEPT_RUNS} runs are kept for {} minutes after their end; start it again",
                    KEPT_FOR.as_secs() / 60
                ))
            })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Arc<Run>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets runs that ended long ago, and the oldest of too many.
fn tidy(known: &mut BTreeMap<RunId, Arc<Run>>) {
    let now = Instant::now();
    known.retain(|_, run| run.ended_at().is_none_or(|ended| now < ended + KEPT_FOR));
    let mut ended: Vec<(Instant, RunId)> = known
        .iter()
        .filter_map(|(id, run)| Some((run.ended_at()?, *id)))
        .collect();
    ended.sort_unstable();
    let surplus = ended.len().saturating_sub(KEPT_RUNS);
    for (_, id) in ended.into_iter().take(surplus) {
        known.remove(&id);
    }
}

pub(crate) fn no_sandbox() -> Error {
    Error::new(
        ErrorKind::Forbidden,
        "commands are not run here: the settings choose no sandbox, and running them on the host itself is not allowed",
    )
    .hint(
        "whoever runs Agentyard may set `sandbox.backend` to `auto`; or, to run commands on the host, where they can do \
         whatever that user can, `sandbox.allow_host = true` (AGENTYARD_SANDBOX_ALLOW_HOST=true)",
    )
}
