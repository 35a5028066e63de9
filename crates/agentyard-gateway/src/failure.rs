//! An error of the services in the words of the wire: the same object over MCP, REST
//! and on the command line.

use agentyard_model::RequestId;
use agentyard_services::{Error, ErrorKind};
use serde_json::{Value, json};

/// The error as clients read it. Of an internal one they learn what was attempted and
/// the id under which the log has the rest.
#[must_use]
pub fn error_object(error: &Error, request_id: &RequestId) -> Value {
    let (message, hints) = match error.kind() {
        ErrorKind::Internal => (
            format!("internal error while {}", error.message()),
            vec![format!("the server's log has the cause under request id {request_id}")],
        ),
        _ => (error.message().to_owned(), error.hints().to_vec()),
    };
    let mut object = json!({
        "kind": error.kind().as_str(),
        "message": message,
        "request_id": request_id.as_str(),
    });
    if !hints.is_empty() {
        object["hints"] = hints.into();
    }
    json!({ "error": object })
}
