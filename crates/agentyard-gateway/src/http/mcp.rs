//! MCP over HTTP: `/mcp`, `/mcp/{toolset}`, `/mcp?toolsets=…`.

use std::sync::Arc;

use agentyard_model::{Caller, Toolsets};
use axum::Router;
use axum::extract::{Query, Request};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use agentyard_services::ErrorKind;

use crate::edge::Refusal;
use crate::mcp::answers::mend_answers;
use crate::mcp::conformance::{ConformanceFixtures, ConformanceServer};
use crate::mcp::scope::AddressedToolsets;
use crate::mcp::sessions::{BoundSessions, SessionLimits, SessionOwner, bind_session_to_subject};
use crate::mcp::{McpServer, REVISIONS};
use crate::platform::Platform;

/// The MCP routes. They end with `streams`.
pub(super) fn routes(platform: &Platform, streams: &CancellationToken, conformance_fixtures: bool) -> Router {
    // The edge has checked Host, Origin and size already, for this and every other route.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX)
        .with_json_response(true)
        .with_cancellation_token(streams.clone());
    let sessions = Arc::new(BoundSessions::new(SessionLimits::default()));
    tokio::spawn(close_idle(sessions.clone(), streams.clone()));
    let platform = platform.clone();
    let server = move || McpServer::for_requests(platform.clone());
    let endpoint = if conformance_fixtures {
        let fixtures = ConformanceFixtures::new();
        let server = move || Ok(ConformanceServer::new(fixtures.for_connection(), server()));
        endpoint(StreamableHttpService::new(server, sessions.clone(), config))
    } else {
        endpoint(StreamableHttpService::new(
            move || Ok(server()),
            sessions.clone(),
            config,
        ))
    };
    endpoint
        .layer(from_fn(|request, next| mend_answers(REVISIONS, request, next)))
        .layer(from_fn_with_state(sessions, bind_session_to_subject))
        .layer(from_fn(address))
}

fn endpoint<H: ServerHandler>(service: StreamableHttpService<H, BoundSessions>) -> Router {
    Router::new()
        .route_service("/mcp", service.clone())
        .route_service("/mcp/{toolset}", service)
}

async fn close_idle(sessions: Arc<BoundSessions>, until: CancellationToken) {
    sessions.close_idle_until(until).await;
}

#[derive(Deserialize)]
struct Addressed {
    toolsets: Option<String>,
}

/// Notes which toolsets the address names, and whose session it would be.
async fn address(mut request: Request, next: Next) -> Response {
    let toolsets = match addressed_toolsets(&request) {
        Ok(toolsets) => toolsets,
        Err(refusal) => return refusal.into_response(),
    };
    if let Some(toolsets) = toolsets {
        request.extensions_mut().insert(AddressedToolsets(toolsets));
    }
    if let Some(caller) = request.extensions().get::<Caller>() {
        let owner = SessionOwner(format!("{} {}", caller.tenant, caller.subject));
        request.extensions_mut().insert(owner);
    }
    next.run(request).await
}

fn addressed_toolsets(request: &Request) -> Result<Option<Toolsets>, Refusal> {
    let in_path = request
        .uri()
        .path()
        .strip_prefix("/mcp/")
        .filter(|rest| !rest.is_empty());
    if let Some(name) = in_path {
        return name
            .parse()
            .map(|toolset| Some(Toolsets::of(&[toolset])))
            .map_err(|unknown: agentyard_model::UnknownToolset| {
                Refusal::new(ErrorKind::NotFound, unknown.to_string())
            });
    }
    let query = Query::<Addressed>::try_from_uri(request.uri()).map_err(|_| {
        Refusal::new(
            ErrorKind::InvalidInput,
            "the query cannot be read: expected `?toolsets=git,core`",
        )
    })?;
    let Some(names) = query.0.toolsets else {
        return Ok(None);
    };
    names
        .parse()
        .map(Some)
        .map_err(|unknown: agentyard_model::UnknownToolset| {
            Refusal::new(ErrorKind::InvalidInput, unknown.to_string())
        })
}
