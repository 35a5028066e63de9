//! The layers in their one right order.

use std::any::Any;
use std::sync::Arc;

use agentyard_model::Clock;
use axum::extract::{DefaultBodyLimit, Extension, Json, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;

use super::admission::{Admission, admit};
use super::authenticator::{Authenticator, Identities};
use super::bearer::METADATA_PATH;
use super::limits::{LoadLimit, RateLimits, limit_body, limit_rate, shed_load};
use super::metadata::ProtectedResource;
use super::origin::{BaseUrl, Guard, SandboxGuard, cors_layer, guard, guard_sandboxes};
use agentyard_services::ErrorKind;

use super::refusal::Refusal;
use super::request_id::name_request;
use super::settings::{AuthSettings, HttpSettings, InvalidSetting};

/// Everything that stands between a socket and a route.
#[derive(Debug, Clone)]
pub struct Edge {
    guard: Arc<Guard>,
    cors: CorsLayer,
    load: Arc<LoadLimit>,
    rates: Arc<RateLimits>,
    admission: Arc<Admission>,
    auth: Arc<AuthSettings>,
    max_body_bytes: usize,
}

/// Who tells browsers which pages may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browsers {
    /// We do, for the origins of the settings.
    AnsweredHere,
    /// What runs in the sandbox does.
    AnsweredInside,
}

impl Edge {
    /// The edge for these settings, which are checked first.
    ///
    /// # Errors
    /// Names the first setting that cannot stand.
    pub fn new(
        http: &HttpSettings,
        auth: &AuthSettings,
        identities: Arc<dyn Identities>,
        clock: Clock,
    ) -> Result<Self, InvalidSetting> {
        http.check()?;
        auth.check(http.listen)?;
        let guard = Arc::new(Guard::from_settings(http)?);
        let rates = Arc::new(RateLimits::new(http));
        let authenticator = Authenticator::new(auth, identities, clock)?;
        Ok(Self {
            cors: cors_layer(&guard),
            guard,
            load: Arc::new(LoadLimit::new(http)),
            admission: Arc::new(Admission::new(http, authenticator, Arc::clone(&rates))),
            rates,
            auth: Arc::new(auth.clone()),
            max_body_bytes: http.max_body_bytes,
        })
    }

    /// Fetches ahead what would otherwise be fetched for the first caller.
    pub async fn warm(&self) {
        self.admission.warm().await;
    }

    /// Routes that need an identity: they find a `Caller` in the extensions. Before that, a
    /// request's body is not looked at.
    pub fn protected<S>(&self, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        self.protected_streams(self.bounded(routes))
    }

    /// Routes that need an identity and take bodies of any size, which they must stream.
    pub fn protected_streams<S>(&self, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        routes.layer(from_fn_with_state(Arc::clone(&self.admission), admit))
    }

    /// Routes that everybody may see: counted by address.
    pub fn public<S>(&self, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        self.bounded(routes)
            .layer(from_fn_with_state(Arc::clone(&self.rates), limit_rate))
    }

    /// The route that tells clients how to be let in; it is public.
    pub fn metadata_route<S>(&self) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let route = routing::get(serve_metadata).with_state(Arc::clone(&self.auth));
        self.public(Router::new().route(METADATA_PATH, route))
    }

    /// Around everything, fallbacks included. From the outside in: the request gets its
    /// name; foreign hosts and pages are sent away before anything is done for them; browsers
    /// are answered; then what is too much at once is shed. A panic ends one request only.
    pub fn enclose(&self, app: Router) -> Router {
        app.layer(CatchPanicLayer::custom(our_fault))
            .layer(from_fn_with_state(Arc::clone(&self.load), shed_load))
            .layer(self.cors.clone())
            .layer(from_fn_with_state(Arc::clone(&self.guard), guard))
            .layer(from_fn(name_request))
    }

    /// Around what leads into sandboxes. It sees to identities by itself, with [`Edge::admission`], and must turn away
    /// [foreign pages](super::ForeignPage). Browsers are answered by us or, where sandboxes have names of their own, by
    /// what runs there.
    pub(crate) fn enclose_sandboxes(&self, app: Router, domain: Option<&str>, browsers: Browsers) -> Router {
        let guard = Arc::new(SandboxGuard::new(Arc::clone(&self.guard), domain));
        let app = app
            .layer(CatchPanicLayer::custom(our_fault))
            .layer(from_fn_with_state(Arc::clone(&self.load), shed_load));
        let app = match browsers {
            Browsers::AnsweredHere => app.layer(self.cors.clone()),
            Browsers::AnsweredInside => app,
        };
        app.layer(from_fn_with_state(guard, guard_sandboxes))
            .layer(from_fn(name_request))
    }

    /// Who may come in.
    pub(crate) fn admission(&self) -> Arc<Admission> {
        Arc::clone(&self.admission)
    }

    fn bounded<S>(&self, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        routes
            // The framework's own, lower limit would hide the configured one.
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn_with_state(self.max_body_bytes, limit_body))
    }
}

async fn serve_metadata(
    State(auth): State<Arc<AuthSettings>>,
    Extension(base): Extension<BaseUrl>,
) -> Json<ProtectedResource> {
    Json(ProtectedResource::new(&base, &auth))
}

/// What was thrown is not for the client; the panic hook has already shown it to the log.
fn our_fault(_panic: Box<dyn Any + Send>) -> Response {
    Refusal::new(
        ErrorKind::Internal,
        "the server failed while working on this request; the log has the details under its id",
    )
    .into_response()
}
