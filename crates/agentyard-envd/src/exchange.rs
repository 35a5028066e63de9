//! One request to a daemon and its answer, over whatever leads to it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

/// What a request or an answer carries. It may be a stream that never ends.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// How many requests can be under way at the same time over one connection. Each background process takes one for as long
/// as somebody listens to it.
pub(crate) const MAX_STREAMS: u32 = 2000;

/// How much one request or answer may have sent that was not read yet.
pub(crate) const STREAM_WINDOW: u32 = 128 * 1024;

/// The same for all of them together: so much that one that is not read never holds up the others.
pub(crate) const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How long the head of a request or an answer may be. Where one is much longer, HTTP/2 gives the whole connection up, and
/// with it everybody else's requests and the sandbox.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// What both ends of a connection are told to read of a head, with something to spare.
pub(crate) const READ_HEAD_BYTES: u32 = 128 * 1024;

/// Whether a head can be sent.
pub(crate) fn fits(headers: &HeaderMap, address: &Uri) -> bool {
    // Each takes a little more than its letters.
    let bytes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 32);
    bytes.sum::<usize>() + address.to_string().len() <= MAX_HEAD_BYTES
}

/// What becomes of a request.
pub type Exchanged<'a> = Pin<Box<dyn Future<Output = Result<Response<Body>, Unreachable>> + Send + 'a>>;

/// Leads to a daemon.
pub trait Exchange: fmt::Debug + Send + Sync {
    /// Sends a request and waits for the head of the answer. The request's address needs a path only.
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_>;
}

/// The daemon did not answer.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox did not answer: {reason}")]
pub struct Unreachable {
    /// Why, as far as is known.
    pub reason: String,
}

/// A body with nothing in it.
#[must_use]
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is there as a whole.
#[must_use]
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// A daemon at the other end of one connection, over which all requests go at the same time.
#[derive(Debug, Clone)]
pub struct Http2 {
    sender: SendRequest<Body>,
}

impl Http2 {
    /// Takes a connection over. The daemon need not be there yet.
    ///
    /// # Errors
    /// When the other end is closed already.
    pub async fn over(
        connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Unreachable> {
        let told = |error: hyper::Error| Unreachable {
            reason: error.to_string(),
        };
        let (sender, driver) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(READ_HEAD_BYTES)
            .handshake(TokioIo::new(connection))
            .await
            .map_err(told)?;
        // It ends with the connection, and with the last sender.
        tokio::spawn(driver);
        Ok(Self { sender })
    }
}

impl Exchange for Http2 {
    fn exchange(&self, mut request: Request<Body>) -> Exchanged<'_> {
        let mut sender = self.sender.clone();
        Box::pin(async move {
            let told = |error: hyper::Error| Unreachable {
                reason: error.to_string(),
            };
            let path = request
                .uri()
                .path_and_query()
                .map_or("/", http::uri::PathAndQuery::as_str);
            // HTTP/2 has no requests without a scheme and an authority.
            let address = format!("http://sandbox{path}");
            *request.uri_mut() = address.parse().map_err(|_| Unreachable {
                reason: format!("{address} is no address"),
            })?;
            *request.version_mut() = http::Version::HTTP_2;
            if !fits(request.headers(), request.uri()) {
                return Err(Unreachable {
                    reason: format!("the head of the request is longer than {MAX_HEAD_BYTES} bytes"),
                });
            }
            sender.ready().await.map_err(told)?;
            let answer = sender.send_request(request).await.map_err(told)?;
            Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }
}
