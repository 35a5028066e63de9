//! Copies of a sandbox.

use agentyard_services::{Error, ErrorKind};
use axum::body::Body;
use axum::extract::State;
use axum::response::Json;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::caller::{Known, SandboxPath};
use super::shown::{Admitted, View};
use super::{Control, arguments, body};
use crate::e2b::words::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Forking {
    timeout: Option<u64>,
    count: Option<u32>,
}

/// What the operation answers: of each copy, itself or why it is not there.
#[derive(Debug, Deserialize)]
struct Forks {
    #[serde(default)]
    forks: Vec<Fork>,
}

#[derive(Debug, Deserialize)]
struct Fork {
    sandbox: Option<View>,
    error: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    kind: String,
    message: String,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == failure.kind);
        let kind = kind.copied().unwrap_or(ErrorKind::Internal);
        Error::new(kind, failure.message).into()
    }
}

/// What clients read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Forked {
    Sandbox(Admitted),
    Error(Fault),
}

/// `POST /sandboxes/{id}/fork`
pub(super) async fn fork(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<(StatusCode, Json<Vec<Forked>>), Fault> {
    let forking: Forking = body(request).await?;
    let arguments = arguments([
        ("sandbox", json!(id)),
        ("count", json!(forking.count)),
        ("timeout_seconds", json!(forking.timeout)),
    ]);
    let Forks { forks } = control.ask(&caller, "sandbox_fork", arguments).await?;
    let mut forked = Vec::with_capacity(forks.len());
    for fork in forks {
        forked.push(match fork.sandbox {
            Some(view) => Forked::Sandbox(control.admit(&caller, view).await?),
            None => Forked::Error(fork.error.unwrap_or_default().into()),
        });
    }
    Ok((StatusCode::CREATED, Json(forked)))
}
