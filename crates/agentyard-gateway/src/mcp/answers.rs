//! Where rmcp's HTTP endpoint answers other than the specification asks.

use axum::{
    Json,
    extract::Request,
    http::{Method, StatusCode, header::CONTENT_TYPE},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion};
use serde_json::json;

const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// Goes around rmcp's service; `served` are the revisions that its handler serves.
pub(crate) async fn mend_answers(
    served: &'static [ProtocolVersion],
    request: Request,
    next: Next,
) -> Response {
    if let Some(unserved) = unserved(served, &request) {
        return bad_request(&ErrorData::unsupported_protocol_version(unserved, served));
    }
    let content_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let claims_json = content_type.is_some_and(|value| value.starts_with("application/json"));
    let ends_session = request.method() == Method::DELETE;
    let mut response = next.run(request).await;
    // The session is gone by then, and clients take an "accepted" for a failure.
    if ends_session && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    // rmcp also says so of a body that is what it claims to be, only not a message.
    if claims_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let message = "the body is not one JSON-RPC message";
        return bad_request(&ErrorData::new(ErrorCode::PARSE_ERROR, message, None));
    }
    response
}

/// A revision that rmcp knows and so lets pass, though the handler does not serve it.
fn unserved(served: &[ProtocolVersion], request: &Request) -> Option<ProtocolVersion> {
    let version = request.headers().get(PROTOCOL_VERSION)?.to_str().ok()?;
    let known = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|known| known.as_str() == version)?;
    (!served.contains(known)).then(|| known.clone())
}

fn bad_request(error: &ErrorData) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}
