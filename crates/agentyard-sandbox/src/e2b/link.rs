//! The way to the daemon of one sandbox.

use std::sync::Arc;
use std::time::Duration;

use agentyard_envd::{
    Body, ENVD_PORT, Exchange, Exchanged, INTERPRETER_PORT, PORT_HEADER, Unreachable, full,
};
use agentyard_model::Secret;
use futures::TryStreamExt as _;
use http::header::{AUTHORIZATION, CONNECTION, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyDataStream, BodyExt as _};
use tokio::sync::watch;

use super::api::{Api, ApiError, Made, SandboxAddress};

const SANDBOX_ID: HeaderName = HeaderName::from_static("e2b-sandbox-id");
const ACCESS_TOKEN: HeaderName = HeaderName::from_static("x-access-token");
const TRAFFIC_TOKEN: HeaderName = HeaderName::from_static("e2b-traffic-access-token");
const KEEPALIVE: HeaderName = HeaderName::from_static("keepalive-ping-interval");

/// As whom programs run: `user`, without a password.
const USER: HeaderValue = HeaderValue::from_static("Basic dXNlcjo=");

/// How often a stream tells that it lives, in seconds.
const KEEPALIVE_SECONDS: HeaderValue = HeaderValue::from_static("50");

/// What a dead sandbox answers in its place.
const GONE: &str = "was not found";

/// How long a refusal may take to come.
const REFUSAL: Duration = Duration::from_secs(30);

/// How much of a refusal is looked at.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// The way to one sandbox.
#[derive(Debug)]
pub(super) struct Link {
    api: Arc<Api>,
    id: String,
    domain: Option<String>,
    access: Option<HeaderValue>,
    traffic: Option<HeaderValue>,
    gone: watch::Sender<bool>,
    frozen: watch::Sender<bool>,
}

impl Link {
    pub(super) fn new(api: Arc<Api>, made: Made) -> Result<Self, ApiError> {
        let token = |secret: Option<Secret>| {
            let mut value = HeaderValue::from_str(secret?.expose()).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        Ok(Self {
            api,
            id: made.id,
            domain: made.domain,
            access: token(made.envd_access_token),
            traffic: token(made.traffic_access_token),
            gone: watch::Sender::new(false),
            frozen: watch::Sender::new(false),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Notes that the sandbox is not there any more.
    pub(super) fn note_gone(&self) {
        self.gone.send_replace(true);
    }

    /// Notes whether the sandbox stands still. While it does, requests wait, because whoever stands before it would say
    /// that there is none.
    pub(super) fn set_frozen(&self, is_frozen: bool) {
        self.frozen.send_replace(is_frozen);
    }

    /// Makes requests wait as if the sandbox were frozen, until this is dropped: it stands still for as long as the
    /// service copies it.
    pub(super) fn held_still(&self) -> Still<'_> {
        let was_frozen = self.frozen.send_replace(true);
        Still {
            link: self,
            was_frozen,
        }
    }

    pub(super) fn is_frozen(&self) -> bool {
        *self.frozen.borrow()
    }

    /// Returns when the sandbox goes on.
    pub(super) async fn thawed(&self) {
        // The sender is here, so that it cannot fail.
        let _ = self.frozen.subscribe().wait_for(|frozen| !*frozen).await;
    }

    /// Returns when somebody found the sandbox gone.
    pub(super) async fn gone(&self) {
        // The sender is here, so that it cannot fail.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    fn address(&self, port: &str, path: &str) -> String {
        match &self.api.sandboxes {
            SandboxAddress::One(url) => format!("{}{path}", url.as_str().trim_end_matches('/')),
            SandboxAddress::Below(domain) => {
                let domain = self.domain.as_deref().unwrap_or(domain);
                format!("https://{port}-{}.{domain}{path}", self.id)
            }
        }
    }

    fn headers(&self, mut headers: HeaderMap) -> (HeaderMap, String) {
        let port = headers
            .get(PORT_HEADER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .unwrap_or(ENVD_PORT);
        for name in [HOST, CONNECTION, TRANSFER_ENCODING, SANDBOX_ID, ACCESS_TOKEN] {
            headers.remove(name);
        }
        if let Ok(id) = HeaderValue::from_str(&self.id) {
            headers.insert(SANDBOX_ID, id);
        }
        headers.insert(PORT_HEADER, HeaderValue::from(port));
        headers.entry(KEEPALIVE).or_insert(KEEPALIVE_SECONDS);
        // Who listens on another port is not the daemon, and must not learn its token.
        if port == ENVD_PORT || port == INTERPRETER_PORT {
            headers.entry(AUTHORIZATION).or_insert(USER);
            headers.extend(self.access.clone().map(|token| (ACCESS_TOKEN, token)));
        } else {
            headers.extend(self.traffic.clone().map(|token| (TRAFFIC_TOKEN, token)));
        }
        (headers, port.to_string())
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Unreachable> {
        tokio::select! {
            () = self.thawed() => {}
            () = self.gone() => {}
        }
        if self.is_gone() {
            return Err(unreachable(&format!("the sandbox {} {GONE}", self.id)));
        }
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let (headers, port) = self.headers(parts.headers);
        let mut call = self
            .api
            .client
            .request(parts.method, self.address(&port, path))
            .headers(headers);
        if !body.is_end_stream() {
            let pieces = BodyDataStream::new(body).map_err(|error| std::io::Error::other(error.to_string()));
            call = call.body(reqwest::Body::wrap_stream(pieces));
        }
        let answer = call
            .send()
            .await
            .map_err(|error| unreachable(&error.without_url()))?;
        let answer = Response::<reqwest::Body>::from(answer);
        let answer = answer.map(|body| body.map_err(boxed).boxed_unsync());
        if answer.status() == StatusCode::BAD_GATEWAY {
            let looked_at = tokio::time::timeout(REFUSAL, self.look_at_refusal(answer)).await;
            return looked_at.unwrap_or_else(|_| Err(unreachable(&"a refusal takes too long")));
        }
        Ok(answer)
    }

    /// Who stands before a sandbox answers in its place when it is gone, or when nobody listens on a port.
    async fn look_at_refusal(&self, answer: Response<Body>) -> Result<Response<Body>, Unreachable> {
        let (parts, mut body) = answer.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| unreachable(&error))?;
            let piece = frame.data_ref().map_or(&[][..], |piece| &piece[..]);
            if text.len() + piece.len() > MAX_REFUSAL_BYTES {
                return Err(unreachable(&"a refusal is too long"));
            }
            text.extend_from_slice(piece);
        }
        if String::from_utf8_lossy(&text).contains(GONE) && !self.is_frozen() {
            self.note_gone();
        }
        Ok(Response::from_parts(parts, full(text)))
    }
}

/// A sandbox that stands still for a moment.
#[derive(Debug)]
pub(super) struct Still<'a> {
    link: &'a Link,
    was_frozen: bool,
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        self.link.set_frozen(self.was_frozen);
    }
}

impl Exchange for Link {
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_> {
        Box::pin(self.send(request))
    }
}

fn unreachable(reason: &dyn std::fmt::Display) -> Unreachable {
    Unreachable {
        reason: reason.to_string(),
    }
}

fn boxed(error: reqwest::Error) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(error)
}
