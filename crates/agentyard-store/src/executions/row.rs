//! One execution as a row.

use agentyard_model::{Execution, ExecutionException, ExecutionId, ExecutionOutcome, OutputExcerpt};

use super::Delivery;
use crate::database::{Query, Row, unreadable};
use crate::{Result, text};

/// The columns of which [`execution`] makes one.
const COLUMNS: &str = "id, tenant_id, subject, agent, session, operation, workspace, code, code_bytes, environment, \
     backend, network, outcome, limit_passed, exit_code, signal, started_at, duration_ms, stdout_head, stdout_tail, \
     stdout_bytes, stderr_head, stderr_tail, stderr_bytes, peak_memory_bytes, cpu_ms, exception_kind, \
     exception_message";

pub(super) fn select(attempt: &'static str) -> Query {
    Query::new(attempt, "SELECT ")
        .push(COLUMNS)
        .push(" FROM executions")
}

pub(super) fn by_id(id: ExecutionId) -> Query {
    select("look up an execution").push(" WHERE id = ").push_value(id)
}

/// Writes a row, unless there is no such tenant, or it is written already.
pub(super) fn insertion(execution: &Execution, delivery: Delivery) -> Query {
    let optional = |text: &Option<String>| text.as_deref().map(|text| text::storable(text).into_owned());
    let exception = execution.exception.as_ref();
    Query::new(
        "record an execution",
        "INSERT INTO executions (tenant_id, id, subject, agent, session, operation, workspace, code, code_bytes, \
         environment, backend, network, outcome, limit_passed, exit_code, signal, started_at, duration_ms, \
         stdout_head, stdout_tail, stdout_bytes, stderr_head, stderr_tail, stderr_bytes, peak_memory_bytes, cpu_ms, \
         exception_kind, exception_message, delivery) \
         SELECT tenants.id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, \
         $21, $22, $23, $24, $25, $26, $27, $28, $29 FROM tenants WHERE tenants.id = $1 \
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(execution.tenant)
    .bind(execution.id)
    .bind(&*text::storable(&execution.subject))
    .bind(optional(&execution.agent))
    .bind(optional(&execution.session))
    .bind(&*text::storable(&execution.operation))
    .bind(optional(&execution.workspace))
    .bind(&*text::storable(&execution.code))
    .bind(execution.code_bytes)
    .bind(optional(&execution.environment))
    .bind(&*text::storable(&execution.backend))
    .bind(&*text::storable(&execution.network))
    .bind(execution.outcome.as_str())
    .bind(optional(&execution.limit))
    .bind(execution.exit_code)
    .bind(execution.signal)
    .bind(execution.started_at)
    .bind(execution.duration_ms)
    .bind(&*text::storable(&execution.stdout.head))
    .bind(&*text::storable(&execution.stdout.tail))
    .bind(execution.stdout.bytes)
    .bind(&*text::storable(&execution.stderr.head))
    .bind(&*text::storable(&execution.stderr.tail))
    .bind(execution.stderr.bytes)
    .bind(execution.peak_memory_bytes)
    .bind(execution.cpu_ms)
    .bind(exception.map(|exception| text::storable(&exception.kind).into_owned()))
    .bind(exception.map(|exception| text::storable(&exception.message).into_owned()))
    .bind(delivery.as_column())
}

pub(super) fn execution(row: &Row) -> Result<Execution> {
    Ok(Execution {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        subject: row.text("subject")?,
        agent: row.optional_text("agent")?,
        session: row.optional_text("session")?,
        operation: row.text("operation")?,
        workspace: row.optional_text("workspace")?,
        code: row.text("code")?,
        code_bytes: row.size("code_bytes")?,
        environment: row.optional_text("environment")?,
        backend: row.text("backend")?,
        network: row.text("network")?,
        outcome: outcome(&row.text("outcome")?)?,
        limit: row.optional_text("limit_passed")?,
        exit_code: row.optional_number("exit_code")?,
        signal: row.optional_number("signal")?,
        started_at: row.timestamp("started_at")?,
        duration_ms: row.size("duration_ms")?,
        stdout: OutputExcerpt {
            head: row.text("stdout_head")?,
            tail: row.text("stdout_tail")?,
            bytes: row.size("stdout_bytes")?,
        },
        stderr: OutputExcerpt {
            head: row.text("stderr_head")?,
            tail: row.text("stderr_tail")?,
            bytes: row.size("stderr_bytes")?,
        },
        peak_memory_bytes: row.optional_size("peak_memory_bytes")?,
        cpu_ms: row.optional_size("cpu_ms")?,
        exception: exception(row)?,
    })
}

fn exception(row: &Row) -> Result<Option<ExecutionException>> {
    let kind = row.optional_text("exception_kind")?;
    let message = row.optional_text("exception_message")?;
    Ok(kind
        .zip(message)
        .map(|(kind, message)| ExecutionException { kind, message }))
}

fn outcome(text: &str) -> Result<ExecutionOutcome> {
    text.parse()
        .map_err(|()| unreadable("outcome", format!("`{}` is not an outcome", text.escape_debug())))
}
