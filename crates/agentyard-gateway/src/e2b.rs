//! E2B's face: the official SDKs find here what they expect of E2B, with an Agentyard token as their API key.
//!
//! There are two parts. The [control] plane is E2B's REST interface, whose routes call our operations. The [data] plane
//! leads into sandboxes; a request is for it that names a sandbox, whatever its path, so it is looked at before any
//! route is.

mod api_key;
mod control;
mod data;
mod words;

use std::sync::Arc;

use agentyard_operations::registry;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::edge::{Browsers, Edge, HttpSettings};
use crate::platform::Platform;

use self::control::Control;
use self::data::{Address, DataPlane, Shares};
use self::words::Fault;

/// What whoever talks to a sandbox does in effect: a server that does not offer it leads nobody there.
const ACTING: &str = "sandbox_run";

/// How the addresses of E2B's interface begin.
const BEGINNINGS: [&str; 9] = [
    "/sandboxes",
    "/v2/sandboxes",
    "/snapshots",
    "/templates",
    "/v2/templates",
    "/v3/templates",
    "/volumes",
    "/secrets",
    "/teams",
];

/// The REST routes, which need an identity.
pub(crate) fn routes(platform: &Platform, http: &HttpSettings, edge: &Edge) -> Router {
    let control = Control {
        platform: platform.clone(),
        domain: http.sandbox_domain.as_deref().map(Arc::from),
    };
    edge.protected(control::routes(control))
        .layer(from_fn(api_key::as_bearer))
}

/// What a request may be for.
#[derive(Clone)]
struct Ways {
    /// Everything but sandboxes.
    app: Router,
    /// The same, where errors are told in E2B's words.
    control: Router,
    /// Sandboxes at our own address.
    sandboxes: Router,
    /// Sandboxes that have host names of their own.
    hosts: Router,
    domain: Option<Arc<str>>,
}

/// Everything: the rest of the server as it is, and the way into sandboxes before it. Both count calls in progress.
pub(crate) fn before(
    app: Router,
    platform: &Platform,
    http: &HttpSettings,
    edge: &Edge,
    end: &CancellationToken,
    track: impl Fn(Router) -> Router,
) -> Router {
    let plane = DataPlane {
        services: platform.services.clone(),
        admission: edge.admission(),
        is_offered: registry()
            .find(ACTING)
            .is_some_and(|operation| platform.selection.offers(operation.entry())),
        shares: Shares::new(http),
        max_upload_bytes: http.max_sandbox_upload_bytes,
        end: end.clone(),
    };
    let domain = http.sandbox_domain.as_deref();
    let lead = |browsers| {
        let app = track(Router::new().fallback(data::answer).with_state(plane.clone()));
        edge.enclose_sandboxes(app, domain, browsers)
            .layer(from_fn(words::reword))
    };
    let ways = Ways {
        control: app.clone().layer(from_fn(words::reword)),
        app,
        sandboxes: lead(Browsers::AnsweredHere),
        hosts: lead(Browsers::AnsweredInside),
        domain: domain.map(Arc::from),
    };
    Router::new().fallback(choose).with_state(Arc::new(ways))
}

async fn choose(State(ways): State<Arc<Ways>>, mut request: Request) -> Response {
    let address = match Address::of(request.uri(), request.headers(), ways.domain.as_deref()) {
        Ok(address) => address,
        Err(fault) => return fault.into_response(),
    };
    let way = match &address {
        // The daemon knows no browsers.
        Some(address) if address.has_own_origin() && !address.is_daemon() => &ways.hosts,
        Some(_) => &ways.sandboxes,
        None if is_control(request.uri().path()) => &ways.control,
        None => &ways.app,
    };
    if let Some(address) = address {
        request.extensions_mut().insert(address);
    }
    way.clone()
        .oneshot(request)
        .await
        .unwrap_or_else(|never| match never {})
}

fn not_offered(what: &str) -> Fault {
    let served = "the toolset `sandbox` is not among those that it serves, or it only reads";
    Fault::new(
        StatusCode::NOT_IMPLEMENTED,
        format!("this server does not offer {what}: {served}"),
    )
}

fn is_control(path: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| {
        path.strip_prefix(beginning)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
