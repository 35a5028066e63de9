//! Calls with one message and one answer.

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::connect::{Code, Fault, MAX_FRAME_BYTES, TIMEOUT_HEADER, UNARY};
use crate::exchange::{Body, full};

/// A message or an answer that says nothing.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Nothing {}

/// Reads the message, and answers with what becomes of it, in the time that was given.
pub(super) async fn unary<Q, A, F>(request: Request<Body>, answer: impl FnOnce(Q) -> F) -> Response<Body>
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, Fault>>,
{
    let time = time_of(request.headers());
    let answered = async { answer(message(request.into_body()).await?).await };
    let result = match time {
        None => answered.await,
        Some(time) => tokio::time::timeout(time, answered)
            .await
            .unwrap_or_else(|_| Err(too_late(time))),
    };
    result
        .and_then(|answer| json(&answer))
        .unwrap_or_else(|fault| refused(&fault))
}

/// A whole message in JSON. An empty one says nothing.
pub(super) async fn message<Q: DeserializeOwned>(body: Body) -> Result<Q, Fault> {
    let bytes = bounded(body, MAX_FRAME_BYTES).await?;
    let bytes = if bytes.is_empty() { b"{}" } else { &bytes[..] };
    parse(bytes)
}

/// What a message in JSON says.
pub(super) fn parse<Q: DeserializeOwned>(bytes: &[u8]) -> Result<Q, Fault> {
    serde_json::from_slice(bytes).map_err(|error| {
        Fault::new(
            Code::InvalidArgument,
            format!("the message is not what this call takes: {error}"),
        )
    })
}

/// All of a body, if it is no longer than this.
pub(super) async fn bounded(mut body: Body, most: usize) -> Result<Bytes, Fault> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Fault::new(Code::Canceled, format!("the message broke off: {error}")))?;
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        if read.len() + bytes.len() > most {
            let message = format!("the message is longer than {most} bytes, the most that is read");
            return Err(Fault::new(Code::ResourceExhausted, message));
        }
        read.extend_from_slice(bytes);
    }
    Ok(read.freeze())
}

/// An answer in JSON.
pub(super) fn json(answer: &impl Serialize) -> Result<Response<Body>, Fault> {
    let text = serde_json::to_vec(answer)
        .map_err(|error| Fault::new(Code::Internal, format!("the answer cannot be written: {error}")))?;
    let mut response = Response::new(full(text));
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(UNARY));
    Ok(response)
}

/// A unary call that failed.
pub(super) fn refused(fault: &Fault) -> Response<Body> {
    let mut response = Response::new(full(serde_json::to_vec(fault).unwrap_or_default()));
    *response.status_mut() = fault.code.status();
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(UNARY));
    response
}

/// How long a call may take, if its caller says so.
pub(super) fn time_of(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT_HEADER)?.to_str().ok()?;
    let milliseconds = text.parse().ok().filter(|milliseconds| *milliseconds != 0)?;
    Some(Duration::from_millis(milliseconds))
}

/// The time of a call is up.
pub(super) fn too_late(time: Duration) -> Fault {
    Fault::new(
        Code::DeadlineExceeded,
        format!("the {} ms that the call was given are over", time.as_millis()),
    )
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::{Value, json};

    use super::*;
    use crate::exchange::{empty, full};

    /// What becomes of a message that is answered with itself.
    async fn echoed(request: Request<Body>) -> (StatusCode, Value) {
        let answer = unary(request, |asked: std::collections::BTreeMap<String, u32>| async {
            Ok(asked)
        })
        .await;
        let status = answer.status();
        let text = bounded(answer.into_body(), 1000).await.unwrap();
        (status, serde_json::from_slice(&text).unwrap())
    }

    #[tokio::test]
    async fn a_message_is_answered_or_refused_with_a_reason() {
        let whole = Request::new(full(r#"{"a":1}"#));
        assert_eq!(echoed(whole).await, (StatusCode::OK, json!({"a": 1})));
        assert_eq!(echoed(Request::new(empty())).await, (StatusCode::OK, json!({})));
        let (status, told) = echoed(Request::new(full(r#"{"a":"b"}"#))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(told["code"], "invalid_argument");
    }

    #[tokio::test]
    async fn no_more_is_read_than_was_said() {
        assert_eq!(bounded(full("12345"), 5).await.unwrap(), "12345");
        let refused = bounded(full("123456"), 5).await.unwrap_err();
        assert_eq!(refused.code, Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_has_only_the_time_that_it_was_given() {
        let request = Request::builder()
            .header(TIMEOUT_HEADER, "100")
            .body(empty())
            .unwrap();
        let answer = unary(request, |_: Nothing| {
            std::future::pending::<Result<Nothing, Fault>>()
        })
        .await;
        assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    }
}
