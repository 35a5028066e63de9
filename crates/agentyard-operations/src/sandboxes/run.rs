//! `sandbox_run`: a command in a sandbox.

use std::time::Duration;

use agentyard_model::{Permission, SandboxId, Toolset};
use agentyard_services::{Result, SandboxCommand, SandboxRan, SandboxSaid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::build::Assignments;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct SandboxRun;

/// Run a command in a sandbox to its end: words, which no shell reads, or a script for bash.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxRunInput {
    /// The sandbox.
    sandbox: SandboxId,
    /// Program and arguments, each by itself: ["ls", "-l"].
    #[serde(default)]
    command: Vec<String>,
    /// Instead of `command`: what bash runs.
    script: Option<String>,
    /// `NAME=value` each.
    #[serde(default)]
    environment: Assignments,
    /// Where; default the home directory.
    directory: Option<String>,
    /// How long it may run. Default 60.
    timeout_seconds: Option<u64>,
}

/// How a command went.
#[derive(Serialize, JsonSchema)]
pub(super) struct RanView {
    /// Left out when it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// How it ended otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Its time was up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    duration_ms: u64,
    /// What it said on standard output; of much, the end.
    #[serde(skip_serializing_if = "is_empty", serialize_with = "as_text")]
    #[schemars(with = "String")]
    stdout: SandboxSaid,
    /// The same of standard error.
    #[serde(skip_serializing_if = "is_empty", serialize_with = "as_text")]
    #[schemars(with = "String")]
    stderr: SandboxSaid,
}

impl Output for RanView {
    fn item_count(&self) -> usize {
        self.stdout.text.len() + self.stderr.text.len()
    }

    fn keep(&mut self, count: usize) {
        let all = self.item_count().max(1);
        for said in [&mut self.stdout, &mut self.stderr] {
            let length = said.text.len();
            let start = said.text.ceil_char_boundary(length - length * count / all);
            said.text.drain(..start);
            said.left_out += start as u64;
        }
    }
}

impl Operation for SandboxRun {
    const NAME: &'static str = "sandbox_run";
    const TOOLSET: Toolset = Toolset::Sandbox;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/sandboxes/{sandbox}/run");
    const WORDS: Option<&'static str> = Some("command");
    type Input = SandboxRunInput;
    type Output = RanView;

    async fn call(context: Context<'_>, input: SandboxRunInput) -> Result<RanView> {
        let request = SandboxCommand {
            command: input.command,
            script: input.script,
            environment: input.environment.0.into_iter().collect(),
            directory: input.directory,
            timeout: input.timeout_seconds.map(Duration::from_secs),
        };
        let sandboxes = &context.services.sandboxes;
        Ok(sandboxes
            .run(context.caller, input.sandbox, request)
            .await?
            .into())
    }
}

impl From<SandboxRan> for RanView {
    fn from(ran: SandboxRan) -> Self {
        Self {
            exit_code: ran.exit_code,
            ended: ran.ended,
            timed_out: ran.timed_out,
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            stdout: ran.stdout,
            stderr: ran.stderr,
        }
    }
}

fn is_empty(said: &SandboxSaid) -> bool {
    said.text.is_empty() && said.left_out == 0
}

fn as_text<S: Serializer>(said: &SandboxSaid, serializer: S) -> Result<S::Ok, S::Error> {
    if said.left_out == 0 {
        return serializer.serialize_str(&said.text);
    }
    let (left_out, text) = (said.left_out, &said.text);
    serializer.collect_str(&format_args!("[… {left_out} bytes left out …]\n{text}"))
}
