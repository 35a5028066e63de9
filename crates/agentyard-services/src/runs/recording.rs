//! What is put on record of a run.

use agentyard_model::{ExecutionException, ExecutionOutcome, NewExecution, OutputExcerpt, Timestamp};
use agentyard_sandbox::{Backend, Network, Stream};

use super::captured::Captured;
use super::log::RunEnd;
use super::performing::Stage;
use crate::error::{Error, Result};

/// What is known of a run before it ends.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The operation that was called.
    pub(crate) operation: &'static str,
    /// The command or the code, without secrets.
    pub(crate) code: String,
    /// The workspace or the directory.
    pub(crate) place: String,
    /// The kind of environment that code ran in.
    pub(crate) environment: Option<String>,
    pub(crate) backend: Backend,
    pub(crate) network: Network,
    pub(crate) started_at: Timestamp,
}

impl Stage {
    /// Puts on record what came of a run. What it said has no secrets in it any more.
    pub(crate) async fn record(
        &self,
        recorded: Recorded,
        end: &Result<RunEnd>,
        exception: Option<ExecutionException>,
    ) {
        let (stdout, stderr) = {
            let log = self.run.log();
            (
                excerpt(&Captured::of(&log, Stream::Stdout, 0)),
                excerpt(&Captured::of(&log, Stream::Stderr, 0)),
            )
        };
        let known = end.as_ref().ok();
        let execution = NewExecution {
            workspace: Some(recorded.place),
            environment: recorded.environment,
            backend: recorded.backend.as_str().to_owned(),
            network: recorded.network.as_str().to_owned(),
            outcome: known.map_or(ExecutionOutcome::Error, outcome),
            limit: known.and_then(limit).map(ToOwned::to_owned),
            exit_code: known.and_then(|end| end.exit_code),
            signal: known.and_then(|end| end.signal),
            duration: known.map(|end| end.duration).unwrap_or_default(),
            stdout,
            stderr,
            peak_memory_bytes: known.and_then(|end| end.usage.peak_memory_bytes),
            cpu: known.and_then(|end| end.usage.cpu),
            exception: exception.or_else(|| end.as_ref().err().map(not_run)),
            ..NewExecution::began(recorded.operation, recorded.code, recorded.started_at)
        };
        self.executions.record(&self.caller, execution).await;
    }
}

fn excerpt(captured: &Captured) -> OutputExcerpt {
    OutputExcerpt {
        head: captured.head.clone(),
        tail: captured.tail.clone(),
        bytes: captured.len() as u64 + captured.left_out_bytes,
    }
}

fn outcome(end: &RunEnd) -> ExecutionOutcome {
    match end {
        RunEnd { timed_out: true, .. } => ExecutionOutcome::TimedOut,
        RunEnd { cancelled: true, .. } => ExecutionOutcome::Cancelled,
        end if limit(end).is_some() => ExecutionOutcome::Limit,
        RunEnd {
            exit_code: Some(0), ..
        } => ExecutionOutcome::Completed,
        _ => ExecutionOutcome::Failed,
    }
}

fn limit(end: &RunEnd) -> Option<&'static str> {
    let limits = [
        (end.output_limit, "output"),
        (end.memory_limit, "memory"),
        (end.disk_limit, "disk"),
    ];
    limits
        .into_iter()
        .find_map(|(is_hit, name)| is_hit.then_some(name))
}

fn not_run(error: &Error) -> ExecutionException {
    ExecutionException {
        kind: error.kind().as_str().to_owned(),
        message: error.message().to_owned(),
    }
}
