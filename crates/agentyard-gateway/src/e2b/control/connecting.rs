//! Joining a sandbox, which wakes it up if it is paused.

use agentyard_model::SandboxId;
use axum::body::Body;
use axum::extract::State;
use axum::response::Json;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::caller::{Known, SandboxPath};
use super::creation::V1_TIMEOUT_SECONDS;
use super::shown::{Admitted, View};
use super::{Control, arguments, body};
use crate::e2b::words::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Joining {
    timeout: Option<u64>,
    /// Whether to go on where it was paused, or to begin anew with its files.
    memory: Option<bool>,
}

type Joined = Result<(StatusCode, Json<Admitted>), Fault>;

/// `POST /v2/sandboxes/{id}/connect`
pub(super) async fn connect_v2(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Joined {
    connect(&control, &caller, id, body(request).await?).await
}

/// `POST /sandboxes/{id}/connect`
pub(super) async fn connect_v1(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Joined {
    let joining: Joining = body(request).await?;
    if joining.timeout.is_none() {
        return Err(Fault::invalid("`timeout` is missing"));
    }
    connect(&control, &caller, id, joining).await
}

/// `POST /sandboxes/{id}/resume`, of a paused one only.
pub(super) async fn resume(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Joined {
    let mut joining: Joining = body(request).await?;
    let view = control.find(&caller, id).await?;
    if view.is_running() {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            format!("sandbox {id} is running already"),
        ));
    }
    joining.timeout.get_or_insert(V1_TIMEOUT_SECONDS);
    connect(&control, &caller, id, joining).await
}

async fn connect(control: &Control, caller: &Known, id: SandboxId, joining: Joining) -> Joined {
    let arguments = arguments([
        ("sandbox", json!(id)),
        ("timeout_seconds", json!(joining.timeout)),
        ("cold", json!(joining.memory.map(|keep| !keep))),
    ]);
    let view: View = control.ask(caller, "sandbox_connect", arguments).await?;
    let status = match view.resumed {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let admitted = control.admit(caller, view).await?;
    Ok((status, Json(admitted)))
}
