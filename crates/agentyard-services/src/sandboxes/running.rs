//! A command in a sandbox, run to its end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agentyard_envd::client::{self, CallError, Messages};
use agentyard_envd::connect::Code;
use agentyard_envd::process::{
    self, Config, Data, End, Event, EventMessage, Selector, SendSignalRequest, Signal, StartRequest,
};
use agentyard_model::{AuditEvent, Caller, SandboxId};
use agentyard_sandbox::Standing;
use tokio::time::Instant;

use super::owners::Wish;
use super::{Sandboxes, checking, recording};
use crate::error::{Error, ErrorKind, Result};
use crate::masking::Mask;
use crate::runs::{MAX_WORDS, PlainText, check_text};

/// How much of each of a command's outputs is kept: the end of it.
const KEPT_BYTES: usize = 256 * 1024;

/// How long a command runs when nobody says.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// How long one may run at most.
const MAX_TIME: Duration = Duration::from_secs(3600);

/// How much longer than its time a command may take to be ended.
const GRACE: Duration = Duration::from_secs(5);

/// A command to be run in a sandbox: words, or a script.
#[derive(Debug, Clone, Default)]
pub struct SandboxCommand {
    /// The program and its arguments. No shell reads them.
    pub command: Vec<String>,
    /// What bash is to run.
    pub script: Option<String>,
    /// What is added to the sandbox's environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts; the home directory when nothing is said.
    pub directory: Option<String>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// What a command said on a stream: the end of it, without escape sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxSaid {
    /// What was kept.
    pub text: String,
    /// How many bytes before that were not.
    pub left_out: u64,
}

/// How a command went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxRan {
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// How it ended otherwise, in words.
    pub ended: Option<String>,
    /// Whether its time was up.
    pub timed_out: bool,
    /// What it said.
    pub stdout: SandboxSaid,
    /// What it said on standard error.
    pub stderr: SandboxSaid,
    /// How long it took.
    pub duration: Duration,
}

impl Sandboxes {
    /// Runs a command in a sandbox to its end. It is ended when its time is up, or nobody waits for it any more.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or it cannot be started.
    pub async fn run(&self, caller: &Caller, id: SandboxId, request: SandboxCommand) -> Result<SandboxRan> {
        let row = self.row(caller, id, Wish::Use).await?;
        let time = request.timeout.unwrap_or(DEFAULT_TIME);
        if time.is_zero() || time > MAX_TIME {
            return Err(Error::invalid(format!(
                "`timeout_seconds`: expected 1 to {}, got {}",
                MAX_TIME.as_secs(),
                time.as_secs()
            )));
        }
        let start = started(request)?;
        let standing = self.answering(caller, &row).await?;
        let mask = self
            .kept()
            .get(&id)
            .map_or_else(Mask::nothing, |kept| kept.mask());
        let command = recording::shown(&start, &mask);
        let event = AuditEvent::done(caller, "sandbox_run", format_args!("{id}: {command}"));
        self.0.parts.audit.record_soon(event).await;
        let mut running = Running {
            standing,
            pid: None,
            ran: SandboxRan::default(),
            stdout: Tail::default(),
            stderr: Tail::default(),
        };
        let begun = Instant::now();
        let ended = tokio::time::timeout(time + GRACE, running.followed(&start, time)).await;
        let timed_out = match ended {
            Ok(Ok(())) => false,
            Ok(Err(CallError::Refused(fault))) if fault.code == Code::DeadlineExceeded => true,
            Ok(Err(error)) => return Err(from_call(&error, running.pid)),
            Err(_) => true,
        };
        let mut ran = std::mem::take(&mut running.ran);
        ran.stdout = std::mem::take(&mut running.stdout).said();
        ran.stderr = std::mem::take(&mut running.stderr).said();
        ran.timed_out = timed_out;
        ran.duration = begun.elapsed();
        Ok(ran)
    }
}

/// A command that runs. One that has not ended when this is dropped is ended.
struct Running {
    standing: Standing,
    pid: Option<u32>,
    ran: SandboxRan,
    stdout: Tail,
    stderr: Tail,
}

impl Running {
    async fn followed(&mut self, start: &StartRequest, time: Duration) -> Result<(), CallError> {
        let mut events: Messages<EventMessage> =
            client::stream(&self.standing, process::SERVICE, "Start", start, Some(time)).await?;
        while let Some(message) = events.next().await? {
            match message.event {
                Event::Start { pid } => self.pid = Some(pid),
                Event::Keepalive {} => {}
                Event::Data(Data::Stdout(bytes) | Data::Pty(bytes)) => self.stdout.push(&bytes),
                Event::Data(Data::Stderr(bytes)) => self.stderr.push(&bytes),
                Event::End(end) => {
                    self.pid = None;
                    self.ran.exit_code = end.exited.then_some(end.exit_code);
                    self.ran.ended = otherwise(&end);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// How a command ended that did not end by itself, in the words of the sandbox: cut and made plain.
fn otherwise(end: &End) -> Option<String> {
    (!end.exited).then(|| end.status.escape_debug().take(200).collect())
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(pid) = self.pid else { return };
        let standing = self.standing.clone();
        tokio::spawn(async move {
            let request = SendSignalRequest {
                process: Selector::Pid(pid),
                signal: Signal::Kill,
            };
            // One that is not there any more need not be ended.
            let _: Result<serde_json::Value, _> =
                client::call(&standing, process::SERVICE, "SendSignal", &request).await;
        });
    }
}

/// The end of what is said.
#[derive(Debug, Default)]
struct Tail {
    kept: VecDeque<u8>,
    left_out: u64,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let surplus = self.kept.len().saturating_sub(KEPT_BYTES);
        self.kept.drain(..surplus);
        self.left_out += surplus as u64;
    }

    fn said(mut self) -> SandboxSaid {
        SandboxSaid {
            text: PlainText::default().push(&String::from_utf8_lossy(self.kept.make_contiguous())),
            left_out: self.left_out,
        }
    }
}

fn started(request: SandboxCommand) -> Result<StartRequest> {
    let (cmd, args) = match (request.script, request.command.split_first()) {
        (Some(script), None) => (
            "/bin/bash".to_owned(),
            vec!["-l".to_owned(), "-c".to_owned(), script],
        ),
        (None, Some((program, arguments))) if !program.is_empty() => (program.clone(), arguments.to_vec()),
        (Some(_), Some(_)) => {
            return Err(Error::invalid(
                "`command` and `script` are both given: one of them is enough",
            ));
        }
        _ => {
            return Err(Error::invalid("neither `command` nor `script` is given").hint(
                "pass the program and its arguments as a list ([\"ls\", \"-l\"]), or a script for bash",
            ));
        }
    };
    if args.len() >= MAX_WORDS {
        return Err(Error::invalid(format!(
            "`command` has more than {MAX_WORDS} words"
        )));
    }
    for word in std::iter::once(&cmd).chain(&args).chain(&request.directory) {
        check_text("command", word)?;
    }
    checking::environment(&request.environment)?;
    Ok(StartRequest {
        process: Config {
            cmd,
            args,
            envs: request.environment,
            cwd: request.directory,
        },
        pty: None,
        tag: None,
        stdin: Some(false),
    })
}

/// What it means to a client that a call to start a command failed, before or after that was started. What a sandbox
/// says is not ours, so it is cut and made plain.
fn from_call(error: &CallError, started: Option<u32>) -> Error {
    let kind = match error {
        CallError::Refused(fault) => match fault.code {
            Code::NotFound => ErrorKind::NotFound,
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => ErrorKind::InvalidInput,
            Code::PermissionDenied | Code::Unauthenticated => ErrorKind::Forbidden,
            Code::AlreadyExists | Code::Aborted => ErrorKind::Conflict,
            Code::ResourceExhausted => ErrorKind::LimitExceeded,
            _ => ErrorKind::Unavailable,
        },
        CallError::Unreachable(_) | CallError::Unreadable(_) => ErrorKind::Unavailable,
    };
    let told: String = error.to_string().escape_debug().take(500).collect();
    match started {
        None => Error::new(kind, format!("the command was not run in the sandbox: {told}")),
        Some(_) => Error::new(
            kind,
            format!("the command was started in the sandbox, but how it ended is not known: {told}"),
        )
        .hint("sandbox_get says whether the sandbox is still there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_is_said_is_kept() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; KEPT_BYTES]);
        tail.push(b"end");
        let said = tail.said();
        assert_eq!((said.text.len(), said.left_out), (KEPT_BYTES, 3));
        assert!(said.text.ends_with("aend"));
    }

    #[test]
    fn what_a_sandbox_says_of_an_end_is_cut_and_made_plain() {
        let end = |exited| End {
            exited,
            status: format!("\u{1b}[2J{}", "x".repeat(1000)),
            ..End::default()
        };
        assert_eq!(otherwise(&end(true)), None);
        let told = otherwise(&end(false)).unwrap();
        assert!(!told.contains('\u{1b}') && told.len() == 200, "{told}");
    }

    #[test]
    fn a_command_is_words_or_a_script() {
        let script = SandboxCommand {
            script: Some("echo $HOME".to_owned()),
            ..SandboxCommand::default()
        };
        assert_eq!(
            started(script.clone()).unwrap().process.args,
            ["-l", "-c", "echo $HOME"]
        );
        let both = SandboxCommand {
            command: vec!["ls".to_owned()],
            ..script
        };
        assert!(started(both).is_err());
        assert!(started(SandboxCommand::default()).is_err());
    }
}
