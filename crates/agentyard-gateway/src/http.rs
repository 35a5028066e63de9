//! The HTTP server: every face on one port, behind one edge.

mod drain;
mod health;
mod identities;
mod listen;
mod mcp;

use std::sync::Arc;
use std::time::Duration;

use agentyard_model::Clock;
use agentyard_services::ErrorKind;
use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::edge::{AuthSettings, Edge, HttpSettings, InvalidSetting, Refusal};
use crate::platform::Platform;
use crate::{e2b, rest};

use self::drain::Drain;
pub use self::health::{Readiness, RenderMetrics};

/// What a server is made of.
pub struct HttpServer {
    /// What it serves.
    pub platform: Platform,
    /// Where and how it listens.
    pub http: HttpSettings,
    /// How callers prove who they are.
    pub auth: AuthSettings,
    /// What time it is.
    pub clock: Clock,
    /// Says whether it can serve.
    pub readiness: Readiness,
    /// Writes out the metrics.
    pub metrics: RenderMetrics,
    /// Whether to add what the conformance suite calls.
    pub conformance_fixtures: bool,
}

impl HttpServer {
    /// Serves until told to stop; then takes nothing new, lets calls in progress finish
    /// for as long as the settings allow, and ends the rest.
    ///
    /// # Errors
    /// When a setting cannot stand.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), InvalidSetting> {
        let identities = Arc::new(identities::FromServices::new(&self.platform.services, &self.auth));
        let edge = Edge::new(&self.http, &self.auth, identities, self.clock.clone())?;
        let streams = CancellationToken::new();
        let drain = Drain::default();
        let app = self.router(&edge, &drain, &streams, &stop);
        let warm = tokio::spawn(async move { edge.warm().await });
        let patience = Duration::from_secs(self.http.drain_seconds);
        let head_timeout = Duration::from_secs(self.http.head_timeout_seconds);
        let accepting = tokio::spawn(listen::accept(
            listener,
            app,
            head_timeout,
            stop.clone(),
            streams.clone(),
        ));
        stop.cancelled().await;
        tracing::info!("stopping: no new calls are taken");
        if !drain.finished(patience).await {
            tracing::warn!(seconds = patience.as_secs(), "calls still in progress are ended");
        }
        streams.cancel();
        warm.abort();
        let _ = accepting.await;
        Ok(())
    }

    fn router(
        &self,
        edge: &Edge,
        drain: &Drain,
        streams: &CancellationToken,
        stop: &CancellationToken,
    ) -> Router {
        let protected = edge.protected(rest::routes(&self.platform, streams).merge(mcp::routes(
            &self.platform,
            streams,
            self.conformance_fixtures,
        )));
        let metrics = health::metrics_route(self.metrics.clone(), self.http.public_metrics);
        let metrics = if self.http.public_metrics {
            edge.public(metrics)
        } else {
            edge.protected(metrics)
        };
        let public = edge.public(
            rest::description_routes(&self.platform)
                .merge(health::routes(self.readiness.clone(), stop.clone())),
        );
        let app = protected
            .merge(e2b::routes(&self.platform, &self.http, edge))
            .merge(metrics)
            .merge(public)
            .merge(edge.metadata_route())
            .fallback(nothing_here)
            .method_not_allowed_fallback(wrong_method);
        let app = edge.enclose(drain.track(app));
        e2b::before(app, &self.platform, &self.http, edge, streams, |routes| {
            drain.track(routes)
        })
    }
}

async fn nothing_here() -> Refusal {
    Refusal::new(ErrorKind::NotFound, "there is nothing at this address")
        .with_hint("`/api` lists the REST routes; MCP is at `/mcp`.")
}

async fn wrong_method() -> Refusal {
    Refusal::new(ErrorKind::InvalidInput, "this address takes other methods")
        .with_status(::http::StatusCode::METHOD_NOT_ALLOWED)
        .with_hint("`/api` lists the routes and their methods.")
}
