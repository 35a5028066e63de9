//! Requests in plain text, passed on and answered.

use std::pin::Pin;
use std::task::{Context, Poll};

use agentyard_envd::drop_hop_by_hop;
use bytes::Bytes;
use http::header::{HOST, HeaderValue};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::refusal::Refusal;
use super::upstream::Outlet;

/// An answer from outside. The connection on which it comes ends with it.
pub(super) struct Relayed {
    body: Incoming,
    _connection: Ending,
}

/// Work that ends when this is dropped.
struct Ending(JoinHandle<()>);

/// Sends a request where it wants to go.
pub(super) async fn pass_on(
    outlet: Outlet<'_>,
    mut request: Request<Incoming>,
) -> Result<Response<Relayed>, Refusal> {
    drop_hop_by_hop(request.headers_mut());
    // Where it goes was decided by its address, so that is what the other side is told too.
    let destination = outlet.destination();
    let host = match destination.port {
        80 => destination.host.to_string(),
        _ => destination.to_string(),
    };
    let host = HeaderValue::from_str(&host).map_err(|_| outlet.unreachable("its name cannot be sent"))?;
    request.headers_mut().insert(HOST, host);
    let stream = outlet.plain(&mut request).await?;
    let broken = |_| outlet.unreachable("it broke off");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let connection = Ending(tokio::spawn(async {
        let _ = connection.await;
    }));
    let mut response = sender.send_request(request).await.map_err(broken)?;
    drop_hop_by_hop(response.headers_mut());
    Ok(response.map(|body| Relayed {
        body,
        _connection: connection,
    }))
}

impl Body for Relayed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.abort();
    }
}
