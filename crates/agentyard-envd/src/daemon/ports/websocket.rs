//! A WebSocket to what listens in the sandbox.

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Trouble, for_listener};
use crate::exchange::{Body, empty};
use crate::headers::drop_hop_by_hop;
use crate::upgrade::{UPGRADE_HEADER, WEBSOCKET, chunks, pour};

/// Whether a request is one in which a WebSocket is handed on.
pub(super) fn is_asked_for(request: &Request<Body>) -> bool {
    request.headers().get(UPGRADE_HEADER) == Some(&WEBSOCKET)
}

/// Asks for a WebSocket, and hands on what both say if there is going to be one.
pub(super) async fn exchange(
    stream: TcpStream,
    port: u16,
    request: Request<Body>,
) -> Result<Response<Body>, Trouble> {
    let (head, said) = request.into_parts();
    let mut request = for_listener(port, Request::from_parts(head, empty()))?;
    request.headers_mut().remove(UPGRADE_HEADER);
    request
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("upgrade"));
    request.headers_mut().insert(UPGRADE, WEBSOCKET);
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(driver.with_upgrades());
    let mut answer = sender.send_request(request).await?;
    *answer.version_mut() = Version::HTTP_2;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        drop_hop_by_hop(answer.headers_mut());
        return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()));
    }
    let listener = hyper::upgrade::on(&mut answer).await?;
    let (read, write) = tokio::io::split(TokioIo::new(listener));
    let (ending, ended) = oneshot::channel::<()>();
    tokio::spawn(async move {
        tokio::select! {
            () = pour(said, write) => {}
            // The listener has said all it had to say: it is gone, or the caller is.
            _ = ended => {}
        }
    });
    let told = futures::StreamExt::map(chunks(read), move |chunk| {
        // It is dropped with the stream.
        let _ = &ending;
        chunk
    });
    let (mut head, _) = answer.into_parts();
    drop_hop_by_hop(&mut head.headers);
    head.status = StatusCode::OK;
    head.headers.insert(UPGRADE_HEADER, WEBSOCKET);
    Ok(Response::from_parts(head, StreamBody::new(told).boxed_unsync()))
}
