//! Podman's API, spoken over its UNIX socket.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use rustix::process::Pid;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The oldest version that has what is used here.
const VERSION: &str = "/v4.0.0/libpod";

/// How much of an answer is read.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// How long an answer may take to which nothing is downloaded or run.
const USUAL: Duration = Duration::from_secs(60);

/// Where podman listens.
#[derive(Debug, Clone)]
pub(super) struct Api {
    socket: PathBuf,
}

/// Why podman did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// It said no.
    #[error("podman answered: {message}")]
    Refused { status: StatusCode, message: String },
    /// It did not say anything that makes sense.
    #[error("podman could not be asked: {0}")]
    Broken(String),
}

impl ApiError {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
    }
}

impl From<io::Error> for ApiError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<hyper::Error> for ApiError {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Api {
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// The process that listens.
    pub(super) async fn process(&self) -> io::Result<Pid> {
        let peer = UnixStream::connect(&self.socket).await?.peer_cred()?;
        peer.pid()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.ask(Method::GET, path, None, USUAL).await
    }

    pub(super) async fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, ApiError> {
        self.ask(Method::POST, path, body, USUAL).await
    }

    /// As [`Api::post`], for what takes as long as it takes.
    pub(super) async fn post_for(&self, path: &str, limit: Duration) -> Result<Value, ApiError> {
        self.ask(Method::POST, path, None, limit).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<(), ApiError> {
        self.ask(Method::DELETE, path, None, USUAL).await.map(drop)
    }

    /// A connection over which a container's input and output go.
    pub(super) async fn upgrade(&self, path: &str) -> Result<TokioIo<Upgraded>, ApiError> {
        let mut request = request(Method::POST, path, None)?;
        request
            .headers_mut()
            .insert(CONNECTION, http::HeaderValue::from_static("Upgrade"));
        request
            .headers_mut()
            .insert(UPGRADE, http::HeaderValue::from_static("tcp"));
        let upgrade = async {
            let response = self.send(request).await?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Err(refusal(response.status(), &read(response.into_body()).await?));
            }
            Ok(TokioIo::new(hyper::upgrade::on(response).await?))
        };
        within(USUAL, upgrade).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, ApiError> {
        let asked = async {
            let response = self.send(request(method, path, body)?).await?;
            let status = response.status();
            let text = read(response.into_body()).await?;
            if !status.is_success() && status != StatusCode::NOT_MODIFIED {
                return Err(refusal(status, &text));
            }
            answer(&text)
        };
        within(limit, asked).await
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<http::Response<Incoming>, ApiError> {
        let stream = UnixStream::connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its request.
        tokio::spawn(connection.with_upgrades());
        Ok(sender.send_request(request).await?)
    }
}

async fn within<T>(limit: Duration, asked: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    timeout(limit, asked)
        .await
        .unwrap_or_else(|_| Err(ApiError::Broken("it does not answer".to_owned())))
}

fn request(method: Method, path: &str, body: Option<&Value>) -> Result<Request<Full<Bytes>>, ApiError> {
    let text = body.map(Value::to_string).unwrap_or_default();
    Request::builder()
        .method(method)
        .uri(format!("{VERSION}{path}"))
        .header(HOST, "podman")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::from(text))
        .map_err(|error| ApiError::Broken(error.to_string()))
}

async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    let read = Limited::new(body, MAX_ANSWER).collect().await;
    Ok(read
        .map_err(|error| ApiError::Broken(error.to_string()))?
        .to_bytes())
}

/// One value, or the last of many where progress is told.
fn answer(text: &[u8]) -> Result<Value, ApiError> {
    let mut last = Value::Null;
    for value in serde_json::Deserializer::from_slice(text).into_iter() {
        last = value.map_err(|error| ApiError::Broken(error.to_string()))?;
    }
    Ok(last)
}

fn refusal(status: StatusCode, text: &[u8]) -> ApiError {
    #[derive(Deserialize)]
    struct Said {
        message: String,
    }
    let message = serde_json::from_slice::<Said>(text).map_or_else(
        |_| format!("status {}", status.as_u16()),
        |said| clean(&said.message),
    );
    ApiError::Refused { status, message }
}

/// What podman says may hold what a program has said.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(1000)
        .collect()
}
