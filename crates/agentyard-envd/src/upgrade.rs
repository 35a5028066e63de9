//! WebSockets to servers in a sandbox.
//!
//! A WebSocket begins as a request of HTTP/1.1 whose connection becomes something else, which there is not in HTTP/2. On
//! the way through a daemon it is one exchange instead, marked by a [header](UPGRADE_HEADER): the request's body is what
//! the client says, and the answer's body what the server says.

use bytes::{Bytes, BytesMut};
use futures::stream::{self, Stream};
use futures::{StreamExt as _, future};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::oneshot;

use crate::exchange::{Body, Exchange, Unreachable};

/// The header that marks an exchange as a connection that becomes something else, and names what.
pub const UPGRADE_HEADER: &str = "agentyard-upgrade";

/// What connections can become.
pub(crate) const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// How much is read at a time.
const CHUNK: usize = 32 * 1024;

/// Whether a request of HTTP/1.1 wants its connection to become a WebSocket.
#[must_use]
pub fn is_asked_for(headers: &HeaderMap) -> bool {
    let named = |name| {
        let values = headers.get_all(name).iter();
        values.filter_map(|value: &HeaderValue| value.to_str().ok())
    };
    let mut words = named(CONNECTION).flat_map(|value| value.split(','));
    words.any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
        && named(UPGRADE).any(|value| value.trim().eq_ignore_ascii_case("websocket"))
}

/// Hands a request to a server in the sandbox that wants its connection to become a WebSocket. If the server agrees, what
/// the client and it say to each other is handed on until one of them ends, and so long something is held, such as a place.
///
/// # Errors
/// When the daemon does not answer.
pub async fn exchange(
    sandbox: &dyn Exchange,
    request: Request<()>,
    client: OnUpgrade,
    held: impl Send + 'static,
) -> Result<Response<Body>, Unreachable> {
    // The client says nothing before it has the answer.
    let (give, given) = oneshot::channel();
    let said = stream::once(given)
        .filter_map(|half| future::ready(half.ok()))
        .flat_map(chunks);
    let mut request = request.map(|()| StreamBody::new(said).boxed_unsync());
    request.headers_mut().remove(CONNECTION);
    request.headers_mut().remove(UPGRADE);
    request.headers_mut().insert(UPGRADE_HEADER, WEBSOCKET);
    let mut answer = sandbox.exchange(request).await?;
    if answer.headers_mut().remove(UPGRADE_HEADER).is_none() {
        return Ok(answer);
    }
    let (mut head, body) = answer.into_parts();
    head.status = StatusCode::SWITCHING_PROTOCOLS;
    head.version = http::Version::HTTP_11;
    head.headers
        .insert(CONNECTION, HeaderValue::from_static("upgrade"));
    head.headers.insert(UPGRADE, WEBSOCKET);
    tokio::spawn(async move {
        if let Ok(client) = client.await {
            let (read, write) = tokio::io::split(TokioIo::new(client));
            if give.send(read).is_ok() {
                pour(body, write).await;
            }
        }
        drop(held);
    });
    Ok(Response::from_parts(head, crate::exchange::empty()))
}

/// What is read, piece by piece and no faster than somebody takes it.
pub(crate) fn chunks(
    read: impl AsyncRead + Unpin + Send + 'static,
) -> impl Stream<Item = Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>> + Send {
    stream::unfold(read, |mut read| async {
        let mut buffer = BytesMut::with_capacity(CHUNK);
        match read.read_buf(&mut buffer).await {
            Ok(1..) => Some((Ok(Frame::data(buffer.freeze())), read)),
            Ok(0) | Err(_) => None,
        }
    })
    .boxed()
}

/// Writes all of a body, until one of the two ends.
pub(crate) async fn pour(mut body: Body, mut write: impl AsyncWrite + Unpin) {
    while let Some(Ok(frame)) = body.frame().await {
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        if write.write_all(bytes).await.is_err() || write.flush().await.is_err() {
            return;
        }
    }
    // Whoever is gone need not be told.
    let _ = write.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_websocket_is_asked_for_in_two_headers() {
        let mut headers = HeaderMap::new();
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        assert!(!is_asked_for(&headers));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        assert!(is_asked_for(&headers));
        headers.insert(UPGRADE, HeaderValue::from_static("h2c"));
        assert!(!is_asked_for(&headers));
    }
}
