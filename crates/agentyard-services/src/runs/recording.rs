//! What is put on record of a run.

use agentyard_model::{ExecutionException, ExecutionOutcome, NewExecution, OutputExcerpt};
use agentyard_sandbox::Stream;

use super::captured::Captured;
use super::log::RunEnd;
use super::performing::Stage;
use crate::error::Result;
use crate::masking::Mask;

impl Stage {
    /// Begins the record of a run: of what, and when.
    pub(crate) fn begin_record(&self, operation: &str, code: &str, mask: &Mask) -> NewExecution {
        NewExecution::began(operation, mask.text(code), self.executions.now())
    }

    /// Puts the run on record: how it ended and what it said, or why it could not be run.
    pub(crate) async fn record(&self, begun: NewExecution, end: &Result<RunEnd>, mask: &Mask) {
        let new = match end {
            Ok(end) => NewExecution {
                outcome: outcome(end),
                limit: limit(end).map(ToOwned::to_owned),
                exit_code: end.exit_code,
                signal: end.signal,
                duration: end.duration,
                stdout: self.excerpt(Stream::Stdout),
                stderr: self.excerpt(Stream::Stderr),
                peak_memory_bytes: end.usage.peak_memory_bytes,
                cpu: end.usage.cpu,
                ..begun
            },
            Err(error) => NewExecution {
                outcome: ExecutionOutcome::Error,
                exception: Some(ExecutionException {
                    kind: error.kind().as_str().to_owned(),
                    message: mask.text(error.message()),
                }),
                ..begun
            },
        };
        self.executions.record(&self.caller, new).await;
    }

    /// What was said on a stream, as those who wait are told: masked already.
    fn excerpt(&self, stream: Stream) -> OutputExcerpt {
        let said = Captured::of(&self.run.log(), stream, 0);
        OutputExcerpt {
            bytes: said.left_out_bytes + (said.head.len() + said.tail.len()) as u64,
            head: said.head,
            tail: said.tail,
        }
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
    match end {
        RunEnd {
            memory_limit: true, ..
        } => Some("memory"),
        RunEnd { disk_limit: true, .. } => Some("disk"),
        RunEnd {
            output_limit: true, ..
        } => Some("output"),
        _ => None,
    }
}
