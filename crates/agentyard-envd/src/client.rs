//! Calling a daemon, wherever it is.

use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::connect::{
    Code, Fault, Frame, Frames, MAX_FRAME_BYTES, STREAM, TIMEOUT_HEADER, UNARY, message_frame,
};
use crate::exchange::{Body, Exchange, Unreachable, full};
use crate::process::{self, Data, End, Event, EventMessage, StartRequest};

/// What need not be encoded in the query of an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');

/// How much is passed on of what a sandbox says about a failure. Whoever runs code in it may have written that.
const MOST_SAID: usize = 300;

/// How long a sandbox has to tell that a program was ended whose time was up.
const LAST_WORD: Duration = Duration::from_secs(15);

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody answered.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The answer is no.
    #[error("{0}")]
    Refused(Fault),
    /// The answer makes no sense.
    #[error("the sandbox's answer cannot be understood: {0}")]
    Unreadable(String),
}

/// Makes a unary call: `call(sandbox, filesystem::SERVICE, "Stat", &request)`.
///
/// # Errors
/// When nobody answers, or the answer is no.
pub async fn call<A: DeserializeOwned>(
    sandbox: &dyn Exchange,
    service: &str,
    method: &str,
    request: &(impl Serialize + Sync),
) -> Result<A, CallError> {
    let message = serde_json::to_vec(request).map_err(unreadable)?;
    let request = post(service, method, UNARY, message, None)?;
    let answer = read(sandbox.exchange(request).await?).await?;
    serde_json::from_slice(&answer).map_err(unreadable)
}

/// Makes a call that answers with a stream of messages, which ends after this time if one is given.
///
/// # Errors
/// When nobody answers, or the answer is no.
pub async fn stream<M: DeserializeOwned>(
    sandbox: &dyn Exchange,
    service: &str,
    method: &str,
    request: &(impl Serialize + Sync),
    time: Option<Duration>,
) -> Result<Messages<M>, CallError> {
    let frame = message_frame(request).map_err(unreadable)?;
    let request = post(service, method, STREAM, frame, time)?;
    let answer = sandbox.exchange(request).await?;
    if answer.status() != StatusCode::OK {
        return Err(refusal(answer).await);
    }
    Ok(Messages {
        body: answer.into_body(),
        frames: Frames::default(),
        kind: PhantomData,
    })
}

/// Messages that come one after the other.
#[derive(Debug)]
pub struct Messages<M> {
    body: Body,
    frames: Frames,
    kind: PhantomData<fn() -> M>,
}

impl<M: DeserializeOwned> Messages<M> {
    /// The next one; none after the last. Nothing is lost when this is dropped halfway.
    ///
    /// # Errors
    /// When the stream breaks off, or ends with a failure.
    pub async fn next(&mut self) -> Result<Option<M>, CallError> {
        loop {
            match self.frames.next_frame().map_err(unreadable)? {
                Some(Frame::Message(message)) => {
                    return serde_json::from_slice(&message).map(Some).map_err(unreadable);
                }
                Some(Frame::End(None)) => return Ok(None),
                Some(Frame::End(Some(fault))) => return Err(refused(fault)),
                None => {}
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.frames.push(bytes);
                    }
                }
                Some(Err(error)) => return Err(broken_off(&error)),
                None => return Err(broken_off(&"it ended without a last word")),
            }
        }
    }
}

/// How a program went that was run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it said, as far as it was to be kept.
    pub stdout: Vec<u8>,
    /// What it said on standard error, as far as it was to be kept.
    pub stderr: Vec<u8>,
}

/// Runs a program to its end, which the sandbox makes when this time is up, and keeps the first so many bytes of each of
/// its outputs.
///
/// # Errors
/// When it cannot be started, or the sandbox is gone before its end, or does not tell of it.
pub async fn run(
    sandbox: &dyn Exchange,
    request: &StartRequest,
    time: Duration,
    most: usize,
) -> Result<Ran, CallError> {
    let ran = tokio::time::timeout(
        time.saturating_add(LAST_WORD),
        run_to_its_end(sandbox, request, time, most),
    )
    .await;
    ran.unwrap_or_else(|_| Err(broken_off(&"its time was up, and nothing more was told")))
}

async fn run_to_its_end(
    sandbox: &dyn Exchange,
    request: &StartRequest,
    time: Duration,
    most: usize,
) -> Result<Ran, CallError> {
    let mut events: Messages<EventMessage> =
        stream(sandbox, process::SERVICE, "Start", request, Some(time)).await?;
    let mut ran = Ran::default();
    let keep = |kept: &mut Vec<u8>, bytes: &[u8]| {
        let room = most.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    };
    while let Some(message) = events.next().await? {
        match message.event {
            Event::Start { .. } | Event::Keepalive {} => {}
            Event::Data(Data::Stdout(bytes) | Data::Pty(bytes)) => keep(&mut ran.stdout, &bytes),
            Event::Data(Data::Stderr(bytes)) => keep(&mut ran.stderr, &bytes),
            Event::End(end) => {
                ran.end = end;
                return Ok(ran);
            }
        }
    }
    Err(broken_off(&"the program's end was not told"))
}

/// What a file holds.
///
/// # Errors
/// When there is no such file, or nobody answers.
pub async fn read_file(sandbox: &dyn Exchange, path: &str) -> Result<Body, CallError> {
    let request = Request::get(format!("/files?path={}", utf8_percent_encode(path, PLAIN)))
        .body(crate::exchange::empty())
        .map_err(unreadable)?;
    let answer = sandbox.exchange(request).await?;
    if answer.status() != StatusCode::OK {
        return Err(refusal(answer).await);
    }
    Ok(answer.into_body())
}

/// Writes a file, and the directories above it.
///
/// # Errors
/// When it cannot be written, or nobody answers.
pub async fn write_file(sandbox: &dyn Exchange, path: &str, content: Body) -> Result<(), CallError> {
    let request = Request::post(format!("/files?path={}", utf8_percent_encode(path, PLAIN)))
        .header(http::header::CONTENT_TYPE, "application/octet-stream")
        .body(content)
        .map_err(unreadable)?;
    read(sandbox.exchange(request).await?).await.map(drop)
}

fn post(
    service: &str,
    method: &str,
    content_type: &str,
    body: impl Into<Bytes>,
    time: Option<Duration>,
) -> Result<Request<Body>, CallError> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(format!("/{service}/{method}"))
        .header(http::header::CONTENT_TYPE, content_type)
        .header(HeaderName::from_static("connect-protocol-version"), "1");
    if let Some(time) = time {
        request = request.header(TIMEOUT_HEADER, time.as_millis().to_string());
    }
    request.body(full(body)).map_err(unreadable)
}

/// The whole answer, which must be a yes.
async fn read(answer: Response<Body>) -> Result<Bytes, CallError> {
    if !answer.status().is_success() {
        return Err(refusal(answer).await);
    }
    whole(answer.into_body()).await
}

async fn refusal(answer: Response<Body>) -> CallError {
    let status = answer.status();
    let text = match whole(answer.into_body()).await {
        Ok(text) => text,
        Err(error) => return error,
    };
    refused(serde_json::from_slice(&text).unwrap_or_else(|_| {
        // Files answer with a number and a message, and whoever stands before a daemon with anything.
        #[derive(serde::Deserialize)]
        struct Told {
            message: String,
        }
        let message = serde_json::from_slice(&text)
            .map(|told: Told| told.message)
            .unwrap_or_else(|_| String::from_utf8_lossy(&text).into_owned());
        Fault::new(code_of(status), message)
    }))
}

fn code_of(status: StatusCode) -> Code {
    match status.as_u16() {
        400 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        409 => Code::AlreadyExists,
        429 | 507 => Code::ResourceExhausted,
        502 | 503 => Code::Unavailable,
        504 => Code::DeadlineExceeded,
        _ => Code::Unknown,
    }
}

async fn whole(mut body: Body) -> Result<Bytes, CallError> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken_off(&error))?;
        let piece = frame.data_ref().map_or(&[][..], |piece| &piece[..]);
        if read.len() + piece.len() > MAX_FRAME_BYTES {
            return Err(broken_off(&"the answer is too long"));
        }
        read.extend_from_slice(piece);
    }
    Ok(read.into())
}

fn broken_off(reason: &dyn std::fmt::Display) -> CallError {
    CallError::Unreachable(Unreachable {
        reason: reason.to_string(),
    })
}

fn unreadable(error: impl std::fmt::Display) -> CallError {
    CallError::Unreadable(in_short(&error.to_string()))
}

fn refused(fault: Fault) -> CallError {
    CallError::Refused(Fault {
        message: in_short(&fault.message),
        ..fault
    })
}

fn in_short(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(MOST_SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Exchanged;

    /// A daemon that was stopped.
    #[derive(Debug)]
    struct Stopped;

    impl Exchange for Stopped {
        fn exchange(&self, _: Request<Body>) -> Exchanged<'_> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_is_not_waited_for_beyond_its_time() {
        let time = Duration::from_secs(60);
        let ran = run(&Stopped, &StartRequest::default(), time, 0).await;
        assert!(matches!(ran, Err(CallError::Unreachable(_))), "{ran:?}");
    }
}
