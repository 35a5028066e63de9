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
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentyard_model::{Caller, Permission, RunId};
use agentyard_sandbox::{Limits, Sandbox};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use crate::error::{Error, ErrorKind, Result};
use crate::places::{Place, Places};
use crate::progress::Progress;
pub use attending::{Followed, Following, RunAnswer, Waiting};
pub use captured::Captured;
pub use commands::CommandRequest;
pub use log::{RunEnd, RunEvent, RunHappening};
pub use making::MakeRequest;
pub use plain::PlainText;
use run::{Attendance, Run};

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
    /// What a command may take; of its time, see above.
    pub limits: Limits,
    /// How many run at once; others wait.
    pub at_once: usize,
    /// How long a run goes on when the last one who followed it has left.
    pub linger: Duration,
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
    timeout: Duration,
}

impl Runs {
    pub(crate) fn new(settings: RunSettings, places: Places) -> Self {
        Self {
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

    /// Starts a run, unless it is one that was started before, and waits for its end for a while.
    async fn attend(
        &self,
        caller: &Caller,
        waiting: Waiting,
        plan: impl FnOnce() -> Result<Plan>,
        progress: &Progress,
    ) -> Result<RunAnswer> {
        caller.require(Permission::AgentRun)?;
        // Who leaves in the middle of waiting does not come back.
        let attendance = match waiting.run {
            Some(run) => Attendance::new(self.find(caller, run)?, Duration::ZERO),
            None => self.start(caller, plan()?)?,
        };
        attending::wait(attendance, waiting, progress).await
    }

    fn start(&self, caller: &Caller, plan: Plan) -> Result<Attendance> {
        let sandbox = self.settings.sandbox.clone().ok_or_else(no_sandbox)?;
        let attendance = Run::started_by(caller);
        let run = &attendance.run;
        let mut known = self.known();
        tidy(&mut known);
        if known.values().filter(|run| run.ended_at().is_none()).count() >= MAX_RUNS {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("starting `{}`: there are {MAX_RUNS} runs already", plan.program),
            )
            .hint("wait until some of them have ended"));
        }
        known.insert(run.id, Arc::clone(run));
        drop(known);
        let performance = performing::Performance {
            run: Arc::clone(run),
            caller: caller.clone(),
            sandbox,
            plan,
            places: self.places.clone(),
            running: Arc::clone(&self.running),
            limits: self.settings.limits,
        };
        // The run does not end with the call that started it, so it has a task of its own.
        tokio::spawn(performance.perform().instrument(Span::current()));
        Ok(attendance)
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

fn no_sandbox() -> Error {
    Error::new(
        ErrorKind::Forbidden,
        "commands are not run here: this version has no sandbox yet, and running them on the host itself is not \
         allowed",
    )
    .hint(
        "whoever runs Agentyard may allow it with `sandbox.allow_host = true` in the configuration, or \
         AGENTYARD_SANDBOX_ALLOW_HOST=true; commands can then do whatever that user can",
    )
}
