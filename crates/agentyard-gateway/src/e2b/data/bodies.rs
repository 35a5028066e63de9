//! Bodies on their way in and out: none is kept, all are bounded by size or by the server's life.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Breaks off a body that is too large.
pub(super) struct Bounded {
    body: Body,
    left: u64,
    overflow: Overflow,
}

/// Whether a body was too large.
#[derive(Debug, Clone, Default)]
pub(super) struct Overflow(Arc<AtomicBool>);

impl Overflow {
    pub(super) fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Bounded {
    pub(super) fn new(body: Body, limit: u64) -> (Self, Overflow) {
        let overflow = Overflow::default();
        let bounded = Self {
            body,
            left: limit,
            overflow: overflow.clone(),
        };
        (bounded, overflow)
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            Some(Ok(frame)) => frame,
        };
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            None => {
                self.overflow.0.store(true, Ordering::Relaxed);
                Poll::Ready(Some(Err("the request is larger than allowed".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that breaks off when the server stops: what a sandbox says may never end by itself. Until then it holds
/// something, such as a place.
pub(super) struct UntilStop<T> {
    body: agentyard_envd::Body,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    _held: T,
}

impl<T> UntilStop<T> {
    pub(super) fn new(body: agentyard_envd::Body, stop: CancellationToken, held: T) -> Self {
        Self {
            body,
            stop: Box::pin(stop.cancelled_owned()),
            _held: held,
        }
    }
}

impl<T: Unpin> HttpBody for UntilStop<T> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        ready!(self.stop.as_mut().poll(context));
        Poll::Ready(Some(Err("the server stops".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    #[tokio::test]
    async fn a_body_passes_up_to_its_limit() {
        let (body, overflow) = Bounded::new(Body::from("12345"), 5);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "12345");
        assert!(!overflow.happened());
        let (body, overflow) = Bounded::new(Body::from("123456"), 5);
        assert!(body.collect().await.is_err());
        assert!(overflow.happened());
    }

    #[tokio::test]
    async fn an_endless_body_ends_with_the_server() {
        let stop = CancellationToken::new();
        let endless = StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, BoxError>>());
        let body = UntilStop::new(endless.boxed_unsync(), stop.clone(), ());
        stop.cancel();
        assert!(body.collect().await.is_err());
        let body = UntilStop::new(agentyard_envd::full("said"), stop, ());
        assert_eq!(body.collect().await.unwrap().to_bytes(), "said");
    }
}
