//! The beginning of a request, read before it is handed on.

use std::pin::Pin;
use std::task::{Context, Poll};

use agentyard_envd::Body;
use agentyard_envd::connect::{Frame, Frames, MAX_FRAME_BYTES};
use bytes::{Bytes, BytesMut};
use http::Request;
use http_body_util::BodyExt as _;

use crate::error::{Error, ErrorKind, Result};

/// The longest description of a program to be started. The kernel would start none with more.
const MAX_START_BYTES: usize = 2 * 1024 * 1024;

/// Reads the first message of a stream, and puts it back. What cannot be read is for whoever answers to refuse.
pub(super) async fn first_message(request: Request<Body>) -> Result<(Request<Body>, Bytes)> {
    let (mut frames, mut message) = (Frames::default(), None);
    let (request, _) = read(request, MAX_START_BYTES, |data| {
        frames.push(data);
        match frames.next_frame() {
            Ok(Some(Frame::Message(first))) => message = Some(first),
            Ok(Some(Frame::End(_))) | Err(_) => {}
            Ok(None) => return false,
        }
        true
    })
    .await?;
    Ok((request, message.unwrap_or_default()))
}

/// Reads all of a request that is one message, and puts it back. Whoever answers takes none that is longer.
pub(super) async fn whole(request: Request<Body>) -> Result<(Request<Body>, Bytes)> {
    read(request, MAX_FRAME_BYTES, |_| false).await
}

/// Reads until it is enough, and puts back what was read.
async fn read(
    request: Request<Body>,
    most: usize,
    mut is_enough: impl FnMut(&Bytes) -> bool,
) -> Result<(Request<Body>, Bytes)> {
    let (head, mut body) = request.into_parts();
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Error::new(ErrorKind::Unavailable, format!("the request broke off: {error}")))?;
        let Some(data) = frame.data_ref() else { continue };
        if read.len() + data.len() > most {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("what is to be done is described in more than {most} bytes"),
            )
            .hint("write long texts to a file first, and name that"));
        }
        read.extend_from_slice(data);
        if is_enough(data) {
            break;
        }
    }
    let first = read.freeze();
    let body = Body::new(ReadAhead {
        first: Some(first.clone()).filter(|first| !first.is_empty()),
        rest: body,
    });
    Ok((Request::from_parts(head, body), first))
}

/// A body of which the beginning was read.
struct ReadAhead {
    first: Option<Bytes>,
    rest: Body,
}

impl http_body::Body for ReadAhead {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(http_body::Frame::data(first)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use agentyard_envd::connect::message_frame;
    use agentyard_envd::{empty, full};

    use super::*;

    async fn rest(request: Request<Body>) -> Bytes {
        request.into_body().collect().await.unwrap().to_bytes()
    }

    fn post(body: impl Into<Bytes>) -> Request<Body> {
        Request::post("/").body(full(body.into())).unwrap()
    }

    #[tokio::test]
    async fn what_was_read_is_handed_on_unchanged() {
        let mut sent = message_frame(&"first").unwrap().to_vec();
        sent.extend_from_slice(b"and more");
        let (request, message) = first_message(post(sent.clone())).await.unwrap();
        assert_eq!(message, "\"first\"");
        assert_eq!(rest(request).await, sent);
        let (request, message) = whole(post(sent.clone())).await.unwrap();
        assert_eq!(message, sent);
        assert_eq!(rest(request).await, sent);
        let nothing = Request::post("/").body(empty()).unwrap();
        let (nothing, message) = first_message(nothing).await.unwrap();
        assert!(message.is_empty() && rest(nothing).await.is_empty());
    }

    #[tokio::test]
    async fn no_more_is_read_than_anybody_takes() {
        let endless = |length: usize| post(vec![0; length]);
        assert!(first_message(endless(MAX_START_BYTES + 1)).await.is_err());
        assert!(whole(endless(MAX_FRAME_BYTES + 1)).await.is_err());
        assert!(whole(endless(MAX_FRAME_BYTES)).await.is_ok());
    }
}
