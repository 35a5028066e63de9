//! An error of the services in the words of the wire: the same object over MCP, REST
//! and on the command line.

use agentyard_model::RequestId;
use agentyard_services::{Error, ErrorKind};
use serde_json::{Value, json};

/// The error as clients read it.
#[must_use]
pub fn error_object(error: &Error, request_id: &RequestId) -> Value {
    let (message, hints) = wording(error);
    let mut object = json!({ "kind": error.kind().as_str(), "message": message });
    if !hints.is_empty() {
        object["hints"] = hints.into();
    }
    object["request_id"] = request_id.as_str().into();
    json!({ "error": object })
}

/// What a client is told of an error: of an internal one, what was attempted and that
/// the log has the rest.
pub(crate) fn wording(error: &Error) -> (String, Vec<String>) {
    match error.kind() {
        ErrorKind::Internal => (
            format!("internal error while {}", error.message()),
            vec!["the server's log has the cause under this request id".to_owned()],
        ),
        _ => (error.message().to_owned(), error.hints().to_vec()),
    }
}

/// What went wrong and what to do about it, one sentence after the other.
pub(crate) fn in_one_text(message: &str, hints: &[String]) -> String {
    let mut text = message.trim_end_matches('.').to_owned();
    for hint in hints {
        text.push_str(". ");
        text.push_str(hint.trim_end_matches('.'));
    }
    text
}
