//! How long a sandbox stays: its time, pausing it, ending it.

use std::time::Duration;

use agentyard_model::Clock;
use axum::body::Body;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::caller::{Known, SandboxPath};
use super::creation::V1_TIMEOUT_SECONDS;
use super::{Control, arguments, body};
use crate::e2b::words::Fault;

/// `DELETE /sandboxes/{id}`
pub(super) async fn kill(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
) -> Result<StatusCode, Fault> {
    control
        .call(&caller, "sandbox_kill", arguments([("sandbox", json!(id))]))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
struct Timeout {
    timeout: u64,
}

/// `POST /sandboxes/{id}/timeout`
pub(super) async fn set_timeout(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<StatusCode, Fault> {
    let Timeout { timeout } = body(request).await?;
    let arguments = arguments([("sandbox", json!(id)), ("timeout_seconds", json!(timeout))]);
    control.call(&caller, "sandbox_set_timeout", arguments).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pausing {
    /// Whether programs go on where they were, or only files stay.
    memory: Option<bool>,
}

/// `POST /sandboxes/{id}/pause`
pub(super) async fn pause(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<StatusCode, Fault> {
    let pausing: Pausing = body(request).await?;
    let arguments = arguments([
        ("sandbox", json!(id)),
        ("files_only", json!(pausing.memory.map(|keep| !keep))),
    ]);
    control.call(&caller, "sandbox_pause", arguments).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refresh {
    duration: Option<u64>,
}

/// `POST /sandboxes/{id}/refreshes`: it stays for so long at least.
pub(super) async fn refresh(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<StatusCode, Fault> {
    let refresh: Refresh = body(request).await?;
    let seconds = refresh.duration.unwrap_or(V1_TIMEOUT_SECONDS);
    let view = control.find(&caller, id).await?;
    let wanted = Clock::System.now().after(Duration::from_secs(seconds));
    if view.ends_at < wanted {
        let arguments = arguments([("sandbox", json!(id)), ("timeout_seconds", json!(seconds))]);
        control.call(&caller, "sandbox_set_timeout", arguments).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
