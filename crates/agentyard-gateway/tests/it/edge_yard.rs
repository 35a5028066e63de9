//! A small router behind the edge, and what a client sees of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentyard_gateway::edge::{AuthSettings, Claims, Edge, HttpSettings, Identities, Refusal};
use agentyard_model::{Caller, Secret, Subject};
use agentyard_services::ErrorKind;
use axum::body::Body;
use axum::extract::{ConnectInfo, Extension, Request};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderName, Method};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::edge_keys::clock;

pub(crate) const TOKEN: &str = "ay_the-token-that-opens-the-door";

pub(crate) const BAD_TOKEN: &str = "ay_a-token-that-opens-nothing";

pub(crate) const HOME: &str = "127.0.0.1:50000";

pub(crate) const ELSEWHERE: &str = "192.0.2.9:50000";

/// Knows one token, and everybody for whom an issuer vouches.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) asked: AtomicUsize,
    pub(crate) down: bool,
}

impl Identities for Known {
    fn caller_of_token(&self, token: Secret) -> BoxFuture<'_, Result<Option<Caller>, Refusal>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if self.down {
                return Err(Refusal::new(ErrorKind::Unavailable, "the database is away"));
            }
            Ok((token.expose() == TOKEN).then(|| external("here", "token")))
        })
    }

    fn caller_of_claims(&self, claims: Claims) -> BoxFuture<'_, Result<Option<Caller>, Refusal>> {
        Box::pin(async move {
            let known = claims.tenant.as_deref() == Some("acme");
            Ok(known.then(|| external(&claims.issuer, &claims.subject)))
        })
    }
}

fn external(issuer: &str, subject: &str) -> Caller {
    Caller {
        subject: Subject::External {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        },
        ..Caller::anonymous()
    }
}

/// A yard with a handful of routes.
pub(crate) struct Yard {
    pub(crate) app: Router,
    pub(crate) known: Arc<Known>,
}

impl Yard {
    pub(crate) fn new(change: impl FnOnce(&mut HttpSettings, &mut AuthSettings)) -> Self {
        Self::with(Known::default(), change)
    }

    pub(crate) fn with(known: Known, change: impl FnOnce(&mut HttpSettings, &mut AuthSettings)) -> Self {
        let (mut http, mut auth) = (HttpSettings::default(), AuthSettings::default());
        change(&mut http, &mut auth);
        let known = Arc::new(known);
        let identities = Arc::clone(&known) as Arc<dyn Identities>;
        let edge = Edge::new(&http, &auth, identities, clock()).unwrap();
        let protected = Router::new()
            .route("/whoami", get(whoami))
            .route(
                "/length",
                post(|body: Bytes| async move { body.len().to_string() }),
            )
            .route("/panic", get(|| async { panic!("secret detail") as () }));
        let public = Router::new().route("/health", get(|| async { "fine" }));
        let app = edge
            .protected(protected)
            .merge(edge.public(public))
            .merge(edge.metadata_route());
        Self {
            app: edge.enclose(app),
            known,
        }
    }

    pub(crate) async fn ask(&self, request: Request) -> Answer {
        Answer::of(self.app.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(HeaderName, &str)]) -> Answer {
        self.ask(request(Method::GET, path, HOME, headers)).await
    }
}

async fn whoami(Extension(caller): Extension<Caller>) -> Json<Value> {
    Json(json!({"subject": caller.subject.to_string(), "request_id": caller.request_id.as_str()}))
}

pub(crate) fn request(method: Method, path: &str, peer: &str, headers: &[(HeaderName, &str)]) -> Request {
    let peer: SocketAddr = peer.parse().unwrap();
    let mut builder = Request::builder()
        .method(method)
        .uri(path)
        .extension(ConnectInfo(peer));
    if !headers.iter().any(|(name, _)| *name == HOST) {
        builder = builder.header(HOST, "localhost:7420");
    }
    for (name, value) in headers {
        builder = builder.header(name, *value);
    }
    builder.body(Body::empty()).unwrap()
}

pub(crate) fn bearer(token: &str) -> (HeaderName, String) {
    (AUTHORIZATION, format!("Bearer {token}"))
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that it is a refusal in our form, and gives its kind.
    pub(crate) fn kind(&self) -> String {
        let body: Value = serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}", self.text));
        let error = &body["error"];
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert!(error["hints"].is_array());
        assert_eq!(error["request_id"], self.header("x-request-id"));
        assert_eq!(self.header("content-type"), "application/json");
        error["kind"].as_str().unwrap().to_owned()
    }

    pub(crate) fn refused(&self) -> (u16, String) {
        (self.status, self.kind())
    }
}

pub(crate) fn refusal(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}
