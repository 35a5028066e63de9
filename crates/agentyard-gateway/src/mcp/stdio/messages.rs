//! From a line to a message, or to what the client is told instead.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, GetMeta, ProtocolVersion, RequestId};
use serde_json::{Value, json};

/// RFC 8259 lets a reader ignore it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

pub(super) enum Parsed {
    Message(Box<ClientJsonRpcMessage>),
    Refused(Reply),
    /// A blank line, or a notification that makes no sense: JSON-RPC forbids answering one.
    Nothing,
}

/// An error answer, made here because rmcp leaves out an id that it does not know, where JSON-RPC wants null.
#[derive(Debug)]
pub(super) struct Reply {
    id: Option<RequestId>,
    code: ErrorCode,
    message: String,
}

impl Reply {
    pub(super) fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            id,
            code,
            message: message.into(),
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let error = json!({ "code": self.code, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
            .to_string()
            .into_bytes()
    }
}

pub(super) fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Parsed::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Parsed::Message(Box::new(message)),
        Err(_) => refuse(line),
    }
}

fn refuse(line: &[u8]) -> Parsed {
    // Nesting deeper than serde_json follows (128 levels) ends here as well.
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("this line is not JSON: {error}");
            return Parsed::Refused(Reply::new(None, ErrorCode::PARSE_ERROR, message));
        }
    };
    if value.is_array() {
        let message = "MCP has no batches since revision 2025-06-18; send each message on a line of its own";
        return Parsed::Refused(Reply::new(None, ErrorCode::INVALID_REQUEST, message));
    }
    if value.get("method").is_some_and(Value::is_string) && value.get("id").is_none() {
        return Parsed::Nothing;
    }
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value(id.clone()).ok());
    let message = match value.get("id") {
        Some(_) if id.is_none() => "a request needs an id that is a string or a whole number",
        _ => "this is not a JSON-RPC 2.0 request, notification or response",
    };
    Parsed::Refused(Reply::new(id, ErrorCode::INVALID_REQUEST, message))
}

/// What may pass before a session is open. rmcp ends the whole connection over a stray notification, and
/// answers a request with an error that does not mention `initialize`.
pub(super) enum Opening {
    /// Opens the session.
    Opens,
    /// Is answered without opening it.
    Passes,
    Dropped,
    Refused(Reply),
}

pub(super) fn opening(message: &ClientJsonRpcMessage, supported: &[ProtocolVersion]) -> Opening {
    let ClientJsonRpcMessage::Request(request) = message else {
        return Opening::Dropped;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => Opening::Opens,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => Opening::Passes,
        other => {
            let meta = other.get_meta();
            if !meta
                .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
            {
                let message = "no session is open: send `initialize` first, or, with revision 2026-07-28, \
                               say protocolVersion and clientCapabilities in the request's _meta";
                return Opening::Refused(Reply::new(
                    Some(request.id.clone()),
                    ErrorCode::INVALID_REQUEST,
                    message,
                ));
            }
            // A revision that is not served is refused by rmcp, and leaves the session closed.
            let served = meta
                .protocol_version()
                .is_some_and(|version| supported.contains(&version));
            if served { Opening::Opens } else { Opening::Passes }
        }
    }
}
