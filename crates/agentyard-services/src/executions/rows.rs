//! An execution as SurrealDB keeps it.

use agentyard_model::{Execution, OutputExcerpt};
use serde_json::{Value, json};

/// The fields, and how each gets its value from the row `$rN`. The first five are those that the log has had since
/// before Agentyard: who, what, what came out, how it ended, when.
const FIELDS: &[&str] = &[
    "agent",
    "code_snippet",
    "output",
    "exit_code",
    "timestamp",
    "id",
    "tenant",
    "subject",
    "session",
    "operation",
    "workspace",
    "code_bytes",
    "environment",
    "backend",
    "network",
    "outcome",
    "limit_passed",
    "signal",
    "duration_ms",
    "output_bytes",
    "error_output",
    "error_output_bytes",
    "peak_memory_bytes",
    "cpu_ms",
    "exception",
];

/// The field that is a time there and text on the way.
const TIME: &str = "timestamp";

/// Statements that write so many rows, one each, so that each row has an answer of its own. A row that is there already
/// is left as it is: sending it twice does no harm.
pub(super) fn statements(table: &str, rows: usize) -> String {
    let names = FIELDS.join(", ");
    let statement = |row: usize| {
        let values: Vec<String> = FIELDS
            .iter()
            .map(|field| match *field {
                TIME => format!("<datetime> $r{row}.{field}"),
                field => format!("$r{row}.{field}"),
            })
            .collect();
        let values = values.join(", ");
        format!("INSERT IGNORE INTO {table} ({names}) VALUES ({values}) RETURN NONE;\n")
    };
    (0..rows).map(statement).collect()
}

/// The variable of a row.
pub(super) fn variable(row: usize) -> String {
    format!("r{row}")
}

/// A row. What is not known is left out.
pub(super) fn row(execution: &Execution) -> Value {
    let mut row = json!({
        "agent": execution.agent.as_deref().unwrap_or(&execution.subject),
        "code_snippet": execution.code,
        "output": text(&execution.stdout),
        "exit_code": execution.exit_code,
        "timestamp": execution.started_at,
        "id": execution.id,
        "tenant": execution.tenant,
        "subject": execution.subject,
        "session": execution.session,
        "operation": execution.operation,
        "workspace": execution.workspace,
        "code_bytes": execution.code_bytes,
        "environment": execution.environment,
        "backend": execution.backend,
        "network": execution.network,
        "outcome": execution.outcome,
        "limit_passed": execution.limit,
        "signal": execution.signal,
        "duration_ms": execution.duration_ms,
        "output_bytes": execution.stdout.bytes,
        "error_output": text(&execution.stderr),
        "error_output_bytes": execution.stderr.bytes,
        "peak_memory_bytes": execution.peak_memory_bytes,
        "cpu_ms": execution.cpu_ms,
        "exception": execution.exception.as_ref().map(|exception| {
            json!({ "type": exception.kind, "message": exception.message })
        }),
    });
    if let Some(fields) = row.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    row
}

/// Both ends of an output, and how much is missing in between.
fn text(output: &OutputExcerpt) -> String {
    match output.left_out_bytes() {
        0 => format!("{}{}", output.head, output.tail),
        left_out => format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            output.head, output.tail
        ),
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::{Caller, NewExecution, Timestamp};

    use super::*;

    #[test]
    fn a_row_has_the_fields_that_are_written_and_no_others() {
        let new = NewExecution::began("make", "'; REMOVE TABLE x; --", Timestamp::from_microseconds(7));
        let row = row(&new.by(&Caller::local()));
        for field in row.as_object().unwrap().keys() {
            assert!(FIELDS.contains(&field.as_str()), "{field}");
        }
        let statements = statements("execution_log", 2);
        assert!(!statements.contains("REMOVE"));
        assert_eq!(
            statements.matches("INSERT IGNORE INTO execution_log (").count(),
            2
        );
        assert!(statements.contains("<datetime> $r1.timestamp"));
    }

    #[test]
    fn what_is_left_out_of_an_output_is_told() {
        let long = OutputExcerpt {
            head: "a".to_owned(),
            tail: "z".to_owned(),
            bytes: 26,
        };
        assert_eq!(text(&long), "a\n[… 24 bytes left out …]\nz");
        assert_eq!(text(&OutputExcerpt::of("abc")), "abc");
    }
}
