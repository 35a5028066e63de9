//! WebSockets to servers in a sandbox.

use std::fmt;

use agentyard_envd::{Body as Carried, Exchange, Exchanged, Unreachable, upgrade};
use agentyard_services::{Sandboxes, Visit};
use axum::body::Body;
use axum::response::Response;
use http::header::{CONNECTION, UPGRADE};
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode};
use hyper::upgrade::OnUpgrade;

use super::shares::Kind;
use super::{Address, DataPlane, TurnedAway, headers};
use crate::e2b::words::Fault;

/// The client's side of a WebSocket, if it asks for one. What we put into sandboxes has none.
pub(super) fn asked_for(address: &Address, head: &mut Parts) -> Option<OnUpgrade> {
    if address.is_daemon() || !upgrade::is_asked_for(&head.headers) {
        return None;
    }
    head.extensions.remove::<OnUpgrade>()
}

impl DataPlane {
    pub(super) async fn connect(
        &self,
        address: &Address,
        visit: &Visit,
        request: Request<()>,
        client: OnUpgrade,
    ) -> Result<Response, TurnedAway> {
        let sandbox = Visited {
            sandboxes: &self.services.sandboxes,
            visit,
        };
        let waiting = self.shares.take(visit.tenant(), Kind::Request)?;
        let open = self.shares.take(visit.tenant(), Kind::Stream)?;
        let answer = upgrade::exchange(&sandbox, request, client, open)
            .await
            .map_err(|error| Fault::unreachable(&visit.sandbox().to_string(), error.reason))?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return self.outward(address, visit, answer, waiting);
        }
        let (mut head, _) = answer.into_parts();
        headers::from_sandbox(&mut head.headers, address);
        let again = [(CONNECTION, "upgrade"), (UPGRADE, "websocket")];
        head.headers
            .extend(again.map(|(name, value)| (name, HeaderValue::from_static(value))));
        Ok(Response::from_parts(head, Body::empty()))
    }
}

/// A sandbox, to who was let in.
struct Visited<'a> {
    sandboxes: &'a Sandboxes,
    visit: &'a Visit,
}

impl Exchange for Visited<'_> {
    fn exchange(&self, request: Request<Carried>) -> Exchanged<'_> {
        Box::pin(async move {
            let exchanged = self.sandboxes.exchange(self.visit, request).await;
            exchanged.map_err(|error| Unreachable {
                reason: error.message().to_owned(),
            })
        })
    }
}

impl fmt::Debug for Visited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visit.fmt(f)
    }
}
