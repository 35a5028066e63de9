//! Tells browsers which other pages may call, and with what.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::Guard;
use crate::edge::request_id::REQUEST_ID_HEADER;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// What clients of E2B send, and what they read.
const E2B_REQUEST_HEADERS: [&str; 16] = [
    "x-api-key",
    "x-access-token",
    "e2b-traffic-access-token",
    "e2b-sandbox-id",
    "e2b-sandbox-port",
    "connect-protocol-version",
    "connect-timeout-ms",
    "keepalive-ping-interval",
    "browser",
    "lang",
    "lang_version",
    "package_version",
    "publisher",
    "sdk_runtime",
    "system",
    "user-agent",
];
const E2B_NEXT_TOKEN: HeaderName = HeaderName::from_static("x-next-token");
/// How long a browser may remember the answer.
const MAX_AGE: Duration = Duration::from_secs(600);

/// CORS for the configured origins and no others. There are no cookies here, so browsers are
/// never allowed to send credentials of their own accord.
pub(in crate::edge) fn cors_layer(guard: &Guard) -> CorsLayer {
    let origins = guard
        .origins
        .iter()
        .filter_map(|origin| HeaderValue::from_str(origin).ok());
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers(allowed_headers())
        .expose_headers([
            MCP_SESSION_ID,
            MCP_PROTOCOL_VERSION,
            REQUEST_ID_HEADER,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
            E2B_NEXT_TOKEN,
        ])
        .max_age(MAX_AGE)
}

fn allowed_headers() -> Vec<HeaderName> {
    let ours = [
        AUTHORIZATION,
        CONTENT_TYPE,
        MCP_SESSION_ID,
        MCP_PROTOCOL_VERSION,
        HeaderName::from_static("mcp-method"),
        HeaderName::from_static("mcp-name"),
        HeaderName::from_static("last-event-id"),
        HeaderName::from_static("idempotency-key"),
        REQUEST_ID_HEADER,
    ];
    let theirs = E2B_REQUEST_HEADERS.map(HeaderName::from_static);
    ours.into_iter().chain(theirs).collect()
}
