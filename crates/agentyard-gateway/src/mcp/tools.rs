//! Tools: the registry in MCP's words.

use std::borrow::Cow;
use std::sync::Arc;

use agentyard_model::RequestId;
use agentyard_operations::{Effect, Entry, Registered, Reply, nearest};
use agentyard_services::Error;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};

use super::scope::Scope;
use crate::failure::error_object;

/// The tool that an operation is.
pub(super) fn tool(operation: &'static Registered) -> Tool {
    let entry = operation.entry();
    let mut schema = operation.input_schema().clone();
    // The description has a place of its own in a tool.
    schema.shift_remove("description");
    Tool::new(
        entry.name,
        Cow::Borrowed(operation.description()),
        Arc::new(schema),
    )
    .with_annotations(annotations(entry))
}

/// What an operation's effect means to a client that asks before it acts.
fn annotations(entry: &Entry) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(entry.reaches_out);
    match entry.effect {
        Effect::Read => hints.read_only(true),
        Effect::Set => hints.read_only(false).destructive(false).idempotent(true),
        Effect::Write => hints.read_only(false).destructive(false).idempotent(false),
        Effect::Destroy => hints.read_only(false).destructive(true).idempotent(true),
    }
}

/// The answer in MCP's words: an object twice, as itself and as the same minified
/// JSON, because some clients show a model only the one and some only the other.
pub(super) fn answer(reply: Reply) -> CallToolResult {
    match reply {
        Reply::Structured { value, json } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(json)]);
            result.structured_content = Some(value);
            result
        }
        Reply::Text { text, .. } => CallToolResult::success(vec![ContentBlock::text(text)]),
    }
}

/// A failure that the model should read.
pub(super) fn failure(error: &Error, request_id: &RequestId) -> CallToolResult {
    CallToolResult::structured_error(error_object(error, request_id))
}

/// A call that names no tool there is.
pub(super) fn unknown(name: &str, scope: &Scope) -> ErrorData {
    let shown: Vec<&str> = scope.shown().map(|operation| operation.entry().name).collect();
    let name: String = name.escape_debug().take(60).collect();
    let message = match nearest(&name, &shown) {
        Some(nearest) => format!("unknown tool `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown tool `{name}`; `tools/list` names those there are"),
    };
    ErrorData::invalid_params(message, None)
}
