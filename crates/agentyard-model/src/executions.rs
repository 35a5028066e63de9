//! Executions: what ran, for whom, and what came of it.

mod excerpt;
mod outcome;
mod place;

use std::time::Duration;

use crate::{Caller, Cursor, ExecutionId, TenantId, Timestamp};

pub use excerpt::{MAX_EXCERPT_BYTES, OutputExcerpt};
pub use outcome::ExecutionOutcome;
pub use place::ExecutionPlace;

/// How much of the code or command is kept.
pub const MAX_CODE_BYTES: usize = 64 * 1024;

/// The longest name or directory that is kept: databases look for them, and their indexes are narrow.
const MAX_NAME_BYTES: usize = 1024;

/// The longest message that is kept.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// An execution that has ended, as it is to be put on record. Whoever makes it has masked the secrets that were granted
/// to it, in every text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExecution {
    /// Under which id. It can be made before the execution begins, so that the answer names it.
    pub id: ExecutionId,
    /// The agent for which it ran, when that is known.
    pub agent: Option<String>,
    /// The session in which it ran, when that is known.
    pub session: Option<String>,
    /// The operation that was called, for example `execute_code`.
    pub operation: String,
    /// The id of the workspace in which it ran, or the directory.
    pub workspace: Option<String>,
    /// The code or the command. More than [`MAX_CODE_BYTES`] is not kept.
    pub code: String,
    /// The environment in which it ran, for example `venv`.
    pub environment: Option<String>,
    /// What kept it apart: `bubblewrap`, `podman`, `host`.
    pub backend: String,
    /// What it could reach: `none`, `registry`, `full`.
    pub network: String,
    /// How it ended.
    pub outcome: ExecutionOutcome,
    /// Which limit ended it, when one did: `memory`, `processes`, `output`.
    pub limit: Option<String>,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it ran.
    pub duration: Duration,
    /// What it said on standard output.
    pub stdout: OutputExcerpt,
    /// What it said on standard error.
    pub stderr: OutputExcerpt,
    /// The most memory that it had at once, when that was measured.
    pub peak_memory_bytes: Option<u64>,
    /// How much processor time it took, when that was measured.
    pub cpu: Option<Duration>,
    /// The exception that ended it, or the reason why it could not run.
    pub exception: Option<ExecutionException>,
}

impl NewExecution {
    /// Something that began at this instant and that nothing else is known of yet: it completed and said nothing.
    #[must_use]
    pub fn began(operation: impl Into<String>, code: impl Into<String>, started_at: Timestamp) -> Self {
        Self {
            id: ExecutionId::new(),
            agent: None,
            session: None,
            operation: operation.into(),
            workspace: None,
            code: code.into(),
            environment: None,
            backend: "host".to_owned(),
            network: "none".to_owned(),
            outcome: ExecutionOutcome::Completed,
            limit: None,
            exit_code: None,
            signal: None,
            started_at,
            duration: Duration::ZERO,
            stdout: OutputExcerpt::default(),
            stderr: OutputExcerpt::default(),
            peak_memory_bytes: None,
            cpu: None,
            exception: None,
        }
    }

    /// The record of it, of what this caller had run. Texts are cut to what is kept of them.
    #[must_use]
    pub fn by(self, caller: &Caller) -> Execution {
        Execution {
            id: self.id,
            tenant: caller.tenant,
            subject: Execution::subject_of(caller),
            agent: self.agent.map(kept),
            session: self.session.map(kept),
            operation: kept(self.operation),
            workspace: self.workspace.map(kept),
            code_bytes: self.code.len() as u64,
            code: cut(self.code, MAX_CODE_BYTES),
            environment: self.environment.map(kept),
            backend: kept(self.backend),
            network: kept(self.network),
            outcome: self.outcome,
            limit: self.limit.map(kept),
            exit_code: self.exit_code,
            signal: self.signal,
            started_at: self.started_at,
            duration_ms: milliseconds(self.duration),
            stdout: self.stdout.within_bounds(),
            stderr: self.stderr.within_bounds(),
            peak_memory_bytes: self.peak_memory_bytes,
            cpu_ms: self.cpu.map(milliseconds),
            exception: self.exception.map(|exception| ExecutionException {
                kind: kept(exception.kind),
                message: cut(exception.message, MAX_MESSAGE_BYTES),
            }),
        }
    }
}

/// What ended an execution from within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionException {
    /// Its type, for example `ValueError`.
    pub kind: String,
    /// What it says.
    pub message: String,
}

/// What is on record of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Which one.
    pub id: ExecutionId,
    /// Whose.
    pub tenant: TenantId,
    /// Who had it run, as [`crate::Subject`] displays itself.
    pub subject: String,
    /// The agent for which it ran, when that is known.
    pub agent: Option<String>,
    /// The session in which it ran, when that is known.
    pub session: Option<String>,
    /// The operation that was called.
    pub operation: String,
    /// The id of the workspace in which it ran, or the directory.
    pub workspace: Option<String>,
    /// The code or the command, or its beginning.
    pub code: String,
    /// How long the code or command was.
    pub code_bytes: u64,
    /// The environment in which it ran.
    pub environment: Option<String>,
    /// What kept it apart.
    pub backend: String,
    /// What it could reach.
    pub network: String,
    /// How it ended.
    pub outcome: ExecutionOutcome,
    /// Which limit ended it, when one did.
    pub limit: Option<String>,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// What it said on standard output.
    pub stdout: OutputExcerpt,
    /// What it said on standard error.
    pub stderr: OutputExcerpt,
    /// The most memory that it had at once, when that was measured.
    pub peak_memory_bytes: Option<u64>,
    /// How much processor time it took, when that was measured.
    pub cpu_ms: Option<u64>,
    /// The exception that ended it.
    pub exception: Option<ExecutionException>,
}

impl Execution {
    /// How this caller is named in records.
    #[must_use]
    pub fn subject_of(caller: &Caller) -> String {
        kept(caller.subject.to_string())
    }

    /// Where a list goes on after this one.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor::at(ExecutionPlace {
            started_at: self.started_at,
            id: self.id,
        })
    }
}

/// Which executions are wanted; a field left out excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct ExecutionFilter {
    /// This one alone.
    pub id: Option<ExecutionId>,
    /// Those of exactly this subject.
    pub subject: Option<String>,
    /// Those whose subject or agent contains this text.
    pub agent: Option<String>,
    /// Begun at or after this instant.
    pub since: Option<Timestamp>,
    /// Begun before this instant.
    pub until: Option<Timestamp>,
    /// With this exit code.
    pub exit_code: Option<i32>,
    /// Only what did not complete.
    pub failed: bool,
    /// Of this operation.
    pub operation: Option<String>,
    /// In this workspace or directory.
    pub workspace: Option<String>,
    /// Whose code, output or exception contains this text.
    pub text: Option<String>,
}

fn kept(text: String) -> String {
    cut(text, MAX_NAME_BYTES)
}

/// The beginning of a text.
fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_bounded_and_says_how_long_the_code_was() {
        let code = "ä".repeat(MAX_CODE_BYTES);
        let new = NewExecution {
            workspace: Some("x".repeat(1 << 20)),
            exception: Some(ExecutionException {
                kind: "E".repeat(1 << 20),
                message: "m".repeat(1 << 20),
            }),
            ..NewExecution::began("execute_code", code, Timestamp::from_microseconds(0))
        };
        let record = new.by(&Caller::local());
        assert_eq!(record.code_bytes, 2 * MAX_CODE_BYTES as u64);
        assert_eq!(record.code.len(), MAX_CODE_BYTES);
        assert_eq!(record.workspace.unwrap().len(), MAX_NAME_BYTES);
        let exception = record.exception.unwrap();
        assert_eq!(
            (exception.kind.len(), exception.message.len()),
            (MAX_NAME_BYTES, MAX_MESSAGE_BYTES)
        );
        assert_eq!(record.subject, Caller::local().subject.to_string());
    }
}
