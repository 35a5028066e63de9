//! E2B's REST interface: each route is a call of one of our operations, with the words of both sides put into the
//! other's.

mod caller;
mod connecting;
mod creation;
mod forks;
mod lifetime;
mod listing;
mod metrics;
mod network;
mod shown;
mod snapshots;
mod unsupported;

use std::sync::Arc;

use agentyard_operations::{Context, Face, Level, Presentation, Progress, registry};
use agentyard_services::Error;
use axum::Router;
use axum::body::Body;
use axum::routing::{delete, get, post, put};
use http::StatusCode;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::words::Fault;
use crate::platform::Platform;

use self::caller::Known;

/// Clients ask for pages of known length, and none reads "and so on".
const ANSWERS: Presentation = Presentation {
    level: Level::Full,
    max_bytes: 8 * 1024 * 1024,
};

/// What the routes share.
#[derive(Clone)]
pub(super) struct Control {
    pub(super) platform: Platform,
    /// Below which sandboxes have host names of their own.
    pub(super) domain: Option<Arc<str>>,
}

/// E2B's routes, all of which need an identity.
pub(super) fn routes(control: Control) -> Router {
    Router::new()
        .route(
            "/v2/sandboxes",
            post(creation::create_v2).get(listing::list_pages),
        )
        .route("/sandboxes", post(creation::create_v1).get(listing::list_running))
        .route("/sandboxes/metrics", get(metrics::latest_of_many))
        .route("/sandboxes/{id}", get(shown::detail).delete(lifetime::kill))
        .route("/v2/sandboxes/{id}/connect", post(connecting::connect_v2))
        .route("/sandboxes/{id}/connect", post(connecting::connect_v1))
        .route("/sandboxes/{id}/resume", post(connecting::resume))
        .route("/sandboxes/{id}/timeout", post(lifetime::set_timeout))
        .route("/sandboxes/{id}/refreshes", post(lifetime::refresh))
        .route("/sandboxes/{id}/pause", post(lifetime::pause))
        .route("/sandboxes/{id}/snapshots", post(snapshots::create))
        .route("/sandboxes/{id}/fork", post(forks::fork))
        .route("/sandboxes/{id}/network", put(network::replace))
        .route("/sandboxes/{id}/metrics", get(metrics::of_one))
        .route("/snapshots", get(snapshots::list))
        .route(
            "/templates/{id}",
            delete(snapshots::remove).fallback(unsupported::templates),
        )
        .merge(unsupported::routes())
        .with_state(control)
}

impl Control {
    /// Calls an operation.
    async fn call(&self, caller: &Known, name: &str, arguments: Map<String, Value>) -> Result<Value, Fault> {
        let Platform {
            services, selection, ..
        } = &self.platform;
        let operation = registry()
            .find(name)
            .filter(|operation| selection.offers(operation.entry()))
            .ok_or_else(|| super::not_offered(name))?;
        let caller = selection.restrict(caller.0.clone());
        let context = Context {
            services,
            caller: &caller,
            progress: &Progress::ignored(),
        };
        let reply = operation.call(context, arguments, ANSWERS, Face::E2b).await?;
        Ok(reply.into_object())
    }

    /// Calls an operation and reads its answer.
    async fn ask<A: DeserializeOwned>(
        &self,
        caller: &Known,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<A, Fault> {
        let answer = self.call(caller, name, arguments).await?;
        serde_json::from_value(answer)
            .map_err(|error| Error::internal(format!("reading the answer of `{name}`"), error).into())
    }
}

/// The object in a body, which may be missing where all of its fields may be. The edge has bounded its size.
async fn body<T: DeserializeOwned>(body: Body) -> Result<T, Fault> {
    let bytes = body.collect().await.map_err(|_| {
        Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is longer than allowed, or broke off. The limit is `http.max_body_bytes`",
        )
    })?;
    let bytes = bytes.to_bytes();
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    serde_json::from_slice(text).map_err(|error| Fault::invalid(format!("the body cannot be read: {error}")))
}

/// Arguments by name.
fn arguments<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
