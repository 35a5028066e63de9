//! Python code of callers, run in their trees and environments.
//!
//! Code is a run like any command's ([`crate::runs`]); what differs is where its process comes from. Where an interpreter
//! is kept warm for its environment, that forks itself; otherwise one is started. The answer says what an agent needs to
//! go on: the exception and where it came from, the package that is missing, the files that have changed.

mod answer;
mod attempt;
mod changes;
mod packages;
mod performing;
mod request;

use std::sync::Arc;

use agentyard_model::{Caller, Clock};
use agentyard_sandbox::Interpreters;

use crate::environments::Environments;
use crate::error::Result;
use crate::places::Places;
use crate::progress::Progress;
use crate::runs::{Runs, Waiting};
use crate::secrets::Secrets;
pub use answer::{
    ChangedPath, ContextState, Exception, ExecAnswer, ExecDetails, FileChangeKind, Frame, Image, Installed,
    MissingPackage,
};
use performing::Performance;
use request::Plan;
pub use request::{CodeFileRequest, CodeRequest, ExecOptions};

/// Runs Python code. Cheap to clone.
#[derive(Clone)]
pub struct Exec(Arc<ExecParts>);

/// What running code takes.
pub(crate) struct ExecParts {
    pub(crate) runs: Arc<Runs>,
    pub(crate) environments: Environments,
    pub(crate) secrets: Secrets,
    pub(crate) places: Places,
    pub(crate) interpreters: Option<Interpreters>,
    pub(crate) clock: Clock,
}

impl Exec {
    pub(crate) fn new(parts: ExecParts) -> Self {
        Self(Arc::new(parts))
    }

    /// Runs code, or waits for code that runs.
    ///
    /// # Errors
    /// When the caller may not run code, none is run here, or the request is wrong.
    pub async fn execute_code(
        &self,
        caller: &Caller,
        request: CodeRequest,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<ExecAnswer> {
        self.attend(caller, waiting, || self.plan_code(request), progress)
            .await
    }

    /// Runs a file of a tree, or waits for one that runs.
    ///
    /// # Errors
    /// When the caller may not run code, none is run here, or there is no such file.
    pub async fn execute_code_file(
        &self,
        caller: &Caller,
        request: CodeFileRequest,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<ExecAnswer> {
        self.attend(caller, waiting, || self.plan_file(request), progress)
            .await
    }

    async fn attend(
        &self,
        caller: &Caller,
        waiting: Waiting,
        plan: impl FnOnce() -> Result<Plan>,
        progress: &Progress,
    ) -> Result<ExecAnswer> {
        let body = || {
            let performance = Performance {
                exec: self.clone(),
                plan: plan()?,
                sandbox: self.0.runs.sandbox()?,
            };
            Ok(move |stage| performance.perform(stage))
        };
        let (run, details) = self.0.runs.attend_with(caller, waiting, body, progress).await?;
        Ok(ExecAnswer { run, details })
    }
}
