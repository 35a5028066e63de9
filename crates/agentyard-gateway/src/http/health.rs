//! What watches the server asks it: is it alive, can it serve, what has it done.

use std::sync::Arc;

use agentyard_model::{Caller, Permission};
use axum::Router;
use axum::extract::Extension;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use agentyard_services::ErrorKind;

use crate::edge::Refusal;

/// Says whether the server can serve, or else why not.
pub type Readiness = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Writes out the metrics in Prometheus's text format.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// `/healthz`: the process answers. `/readyz`: it can serve, too, and has not been told to stop.
pub(super) fn routes(readiness: Readiness, stop: CancellationToken) -> Router {
    Router::new()
        .route("/healthz", get(|| async { Json(json!({ "status": "ok" })) }))
        .route("/readyz", get(move || ready(readiness.clone(), stop.clone())))
}

/// `/metrics`. They tell who does how much of what, so they are shown to who may see that,
/// unless the settings open them to all.
pub(super) fn metrics_route(render: RenderMetrics, public: bool) -> Router {
    let answer = move |caller: Option<Extension<Caller>>| async move {
        let permitted = match caller {
            _ if public => Ok(()),
            Some(Extension(caller)) => caller.require(Permission::ObserveRead),
            None => Caller::anonymous().require(Permission::ObserveRead),
        };
        match permitted {
            Ok(()) => ([("content-type", "text/plain; version=0.0.4")], render()).into_response(),
            Err(denied) => Refusal::new(ErrorKind::Forbidden, denied.to_string()).into_response(),
        }
    };
    Router::new().route("/metrics", get(answer))
}

async fn ready(readiness: Readiness, stop: CancellationToken) -> Response {
    let state = if stop.is_cancelled() {
        Err("the server is stopping".to_owned())
    } else {
        readiness().await
    };
    match state {
        Ok(()) => Json(json!({ "status": "ready" })).into_response(),
        Err(reason) => Refusal::new(ErrorKind::Unavailable, reason).into_response(),
    }
}
