//! `list_executions`: what was run, and what came of it.

use agentyard_model::{
    Cursor, Execution, ExecutionFilter, ExecutionId, ExecutionOutcome, OutputExcerpt, Page, PageRequest,
    Permission, Timestamp, Toolset,
};
use agentyard_services::{PlainText, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

/// How many executions a page has when nobody says.
const DEFAULT_LIMIT: u32 = 20;

/// How much of a text is shown of one execution among several.
const PREVIEW_BYTES: usize = 600;

pub(super) struct ListExecutions;

/// Search what was executed, newest first: code, commands, builds, installs. Arguments narrow it down together. One execution by `id` is shown with all that is kept of its code and output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListExecutionsInput {
    /// Only this one.
    id: Option<ExecutionId>,
    /// In code, output or exception.
    text: Option<String>,
    /// In the name of the agent or caller.
    agent: Option<String>,
    /// Those that ended with it.
    exit_code: Option<i32>,
    /// Only what did not complete.
    #[serde(default)]
    failed: bool,
    /// For example `execute_code`.
    operation: Option<String>,
    /// Workspace id or absolute directory.
    workspace: Option<String>,
    /// RFC 3339.
    since: Option<Timestamp>,
    /// RFC 3339.
    until: Option<Timestamp>,
    /// 20 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<Cursor>,
}

/// A page of executions.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExecutionPageView {
    /// The executions.
    executions: Vec<ExecutionRecordView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// One execution.
#[derive(Serialize, JsonSchema)]
struct ExecutionRecordView {
    /// Its id.
    id: ExecutionId,
    /// What was called.
    operation: String,
    /// When it began.
    started_at: Timestamp,
    /// How it ended.
    outcome: ExecutionOutcome,
    /// Which limit ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// Left out when it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// How long it ran.
    duration_ms: u64,
    /// The code or command; among several, its beginning.
    code: String,
    /// How long that was, when not all of it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    code_bytes: Option<u64>,
    /// The exception that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<String>,
    /// Standard output; among several, its end.
    #[serde(skip_serializing_if = "String::is_empty")]
    stdout: String,
    /// Standard error; among several, its end.
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
    /// Who had it run.
    subject: String,
    /// For which agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// In which workspace or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// In which environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    /// What kept it apart.
    backend: String,
    /// What it could reach.
    network: String,
    /// The most memory that it had at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
    /// How much processor time it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ms: Option<u64>,
    #[serde(skip)]
    cursor: Option<Cursor>,
}

impl Output for ExecutionPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("executions.stdout", Level::Standard),
        ("executions.stderr", Level::Standard),
        ("executions.subject", Level::Standard),
        ("executions.workspace", Level::Standard),
        ("executions.environment", Level::Full),
        ("executions.backend", Level::Full),
        ("executions.network", Level::Full),
        ("executions.session", Level::Full),
        ("executions.peak_memory_bytes", Level::Full),
        ("executions.cpu_ms", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.executions.len()
    }

    fn keep(&mut self, count: usize) {
        self.executions.truncate(count);
        self.next_cursor = self.executions.last().and_then(|last| last.cursor.clone());
        self.truncated = true;
    }
}

impl Operation for ListExecutions {
    const NAME: &'static str = "list_executions";
    const COMMAND: Option<&'static str> = Some("execution list");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::get("/v1/executions");
    type Input = ListExecutionsInput;
    type Output = ExecutionPageView;

    async fn call(context: Context<'_>, input: ListExecutionsInput) -> Result<ExecutionPageView> {
        let extent = match input.id {
            Some(_) => Extent::Whole,
            None => Extent::Preview,
        };
        let filter = ExecutionFilter {
            id: input.id,
            subject: None,
            agent: input.agent,
            since: input.since,
            until: input.until,
            exit_code: input.exit_code,
            failed: input.failed,
            operation: input.operation,
            workspace: input.workspace,
            text: input.text,
        };
        let page = PageRequest::new(Some(input.limit.unwrap_or(DEFAULT_LIMIT)), input.cursor);
        let executions = &context.services.executions;
        let found = executions.list(context.caller, filter, &page).await?;
        Ok(view(found, extent))
    }
}

/// How much is shown of each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Preview,
    Whole,
}

fn view(page: Page<Execution>, extent: Extent) -> ExecutionPageView {
    let page = page.map(|execution| record(execution, extent));
    ExecutionPageView {
        executions: page.items,
        next_cursor: page.next,
        truncated: false,
    }
}

fn record(execution: Execution, extent: Extent) -> ExecutionRecordView {
    let cursor = Some(execution.cursor());
    let code = match extent {
        Extent::Whole => execution.code.as_str(),
        Extent::Preview => &execution.code[..execution.code.floor_char_boundary(PREVIEW_BYTES)],
    };
    ExecutionRecordView {
        id: execution.id,
        operation: execution.operation,
        started_at: execution.started_at,
        outcome: execution.outcome,
        limit: execution.limit,
        exit_code: execution.exit_code,
        signal: execution.signal,
        duration_ms: execution.duration_ms,
        code: plain(code),
        code_bytes: (execution.code_bytes > code.len() as u64).then_some(execution.code_bytes),
        exception: execution
            .exception
            .map(|exception| plain(&format!("{}: {}", exception.kind, exception.message))),
        stdout: output(&execution.stdout, extent),
        stderr: output(&execution.stderr, extent),
        subject: execution.subject,
        agent: execution.agent,
        session: execution.session,
        workspace: execution.workspace,
        environment: execution.environment,
        backend: execution.backend,
        network: execution.network,
        peak_memory_bytes: execution.peak_memory_bytes,
        cpu_ms: execution.cpu_ms,
        cursor,
    }
}

/// Of several, the ends are shown: that is where programs say what came of it.
fn output(said: &OutputExcerpt, extent: Extent) -> String {
    let end = match said.tail.as_str() {
        "" => said.head.as_str(),
        tail => tail,
    };
    let (head, tail) = match extent {
        Extent::Whole if said.tail.is_empty() => (said.head.as_str(), ""),
        Extent::Whole => (said.head.as_str(), said.tail.as_str()),
        Extent::Preview => {
            let start = end.len().saturating_sub(PREVIEW_BYTES);
            ("", &end[end.ceil_char_boundary(start)..])
        }
    };
    match said.bytes.saturating_sub((head.len() + tail.len()) as u64) {
        0 => plain(&format!("{head}{tail}")),
        left_out => format!("{}[… {left_out} bytes left out …]\n{}", lines(head), plain(tail)),
    }
}

fn lines(text: &str) -> String {
    match plain(text) {
        text if text.is_empty() || text.ends_with('\n') => text,
        text => format!("{text}\n"),
    }
}

/// Without what would move the cursor of a terminal.
fn plain(text: &str) -> String {
    PlainText::default().push(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_the_end_is_shown_and_of_one_both_ends() {
        let said = OutputExcerpt {
            head: "begin\u{1b}[31m".to_owned(),
            tail: format!("{}end", "x".repeat(1000)),
            bytes: 5000,
        };
        let preview = output(&said, Extent::Preview);
        assert!(
            preview.starts_with("[… 4400 bytes left out …]\nxxx") && preview.ends_with("xend"),
            "{preview}"
        );
        let whole = output(&said, Extent::Whole);
        assert!(
            whole.starts_with("begin\n[… 3987 bytes left out …]\nxxx") && whole.ends_with("xend"),
            "{whole}"
        );
        let short = OutputExcerpt::of("all of it\n");
        assert_eq!(output(&short, Extent::Preview), "all of it\n");
        assert_eq!(output(&short, Extent::Whole), "all of it\n");
        assert_eq!(output(&OutputExcerpt::default(), Extent::Preview), "");
    }
}
