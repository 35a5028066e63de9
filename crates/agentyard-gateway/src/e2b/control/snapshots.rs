//! Snapshots, which to clients are templates made of a sandbox.

use agentyard_model::SandboxId;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::{Json, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::caller::{Known, SandboxPath};
use super::listing::{limit, unreadable, with_next};
use super::{Control, arguments, body};
use crate::e2b::words::Fault;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Taking {
    name: Option<String>,
}

/// A snapshot, as our operations tell of it.
#[derive(Debug, Deserialize)]
struct View {
    id: String,
    name: Option<String>,
}

/// A snapshot, as clients read it.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot {
    #[serde(rename = "snapshotID")]
    id: String,
    names: Vec<String>,
}

impl From<View> for Snapshot {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            names: view.name.into_iter().collect(),
        }
    }
}

/// `POST /sandboxes/{id}/snapshots`. Whether memory is wanted, too, makes no difference: sandboxes made from a snapshot
/// begin with its files.
pub(super) async fn create(
    State(control): State<Control>,
    caller: Known,
    SandboxPath(id): SandboxPath,
    request: Body,
) -> Result<(StatusCode, Json<Snapshot>), Fault> {
    let taking: Taking = body(request).await?;
    let arguments = arguments([("sandbox", json!(id)), ("name", json!(taking.name))]);
    let view: View = control.ask(&caller, "sandbox_snapshot", arguments).await?;
    Ok((StatusCode::CREATED, Json(view.into())))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    #[serde(rename = "sandboxID")]
    sandbox: Option<String>,
    name: Option<String>,
    limit: Option<u32>,
    #[serde(rename = "nextToken")]
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    snapshots: Vec<View>,
    next_cursor: Option<String>,
}

/// `GET /snapshots`
pub(super) async fn list(
    State(control): State<Control>,
    caller: Known,
    query: Result<Query<Filter>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(filter) = query.map_err(unreadable)?;
    let sandbox = filter.sandbox.as_deref().map(str::parse::<SandboxId>).transpose();
    let Ok(sandbox) = sandbox else {
        // It cannot have had any.
        return Ok(with_next::<Snapshot>(&[], None));
    };
    let arguments = arguments([
        ("sandbox", json!(sandbox)),
        ("name", json!(filter.name)),
        ("limit", json!(limit(filter.limit)?)),
        (
            "cursor",
            json!(filter.next_token.filter(|token| !token.is_empty())),
        ),
    ]);
    let page: Page = control.ask(&caller, "sandbox_snapshots", arguments).await?;
    let snapshots: Vec<Snapshot> = page.snapshots.into_iter().map(Snapshot::from).collect();
    Ok(with_next(&snapshots, page.next_cursor))
}

/// `DELETE /templates/{id}`
pub(super) async fn remove(
    State(control): State<Control>,
    caller: Known,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    control
        .call(
            &caller,
            "sandbox_snapshot_remove",
            arguments([("snapshot", json!(id))]),
        )
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
