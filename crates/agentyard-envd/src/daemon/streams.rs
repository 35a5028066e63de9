//! Answers that are a stream of messages.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame as BodyFrame;
use http_body_util::{BodyExt as _, StreamBody};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::calls;
use crate::connect::{Code, Fault, Frame, Frames, STREAM, end_frame, message_frame};
use crate::exchange::{Body, full};

/// The header that says after how many silent seconds there is to be a sign of life.
const KEEPALIVE_HEADER: &str = "keepalive-ping-interval";

/// The same for who says nothing.
const KEEPALIVE: Duration = Duration::from_secs(90);

/// How many messages wait for a reader before whoever makes them waits.
const QUEUE: usize = 4;

/// For how long a reader may take nothing.
const PATIENCE: Duration = Duration::from_secs(300);

/// How a stream is to be kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The silence that is broken by a sign of life.
    keepalive: Duration,
    /// When it ends at the latest.
    pub(super) deadline: Option<Instant>,
}

impl Pace {
    /// As the caller wants it.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let seconds = headers
            .get(KEEPALIVE_HEADER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .filter(|seconds| *seconds != 0);
        Self {
            keepalive: seconds.map_or(KEEPALIVE, Duration::from_secs),
            deadline: calls::time_of(headers).and_then(|time| Instant::now().checked_add(time)),
        }
    }
}

/// The one message of a call that answers with a stream, and how its answer is to be kept.
pub(super) async fn asked<Q: DeserializeOwned>(request: Request<Body>) -> Result<(Q, Pace), Fault> {
    let pace = Pace::of(request.headers());
    let mut messages = Incoming::new(request.into_body());
    match messages.next().await? {
        Some(message) => Ok((message, pace)),
        None => Err(Fault::new(Code::InvalidArgument, "the call has no message")),
    }
}

/// Messages that come in one after the other.
#[derive(Debug)]
pub(super) struct Incoming {
    body: Body,
    frames: Frames,
}

impl Incoming {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body,
            frames: Frames::default(),
        }
    }

    /// The next one; none after the last.
    pub(super) async fn next<Q: DeserializeOwned>(&mut self) -> Result<Option<Q>, Fault> {
        let invalid = |reason: String| Fault::new(Code::InvalidArgument, reason);
        loop {
            let frame = self.frames.next_frame();
            match frame.map_err(|error| invalid(format!("what was sent is no message: {error}")))? {
                Some(Frame::Message(message)) => return calls::parse(&message).map(Some),
                Some(Frame::End(_)) => return Ok(None),
                None => {}
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.frames.push(bytes);
                    }
                }
                Some(Err(error)) => {
                    return Err(Fault::new(Code::Canceled, format!("the call broke off: {error}")));
                }
                None => return Ok(None),
            }
        }
    }
}

/// What makes the messages of a stream. Copies feed the same one. A reader who is slow is waited for.
#[derive(Debug, Clone)]
pub(super) struct Feed {
    frames: mpsc::Sender<Bytes>,
    ending: watch::Sender<Option<Ending>>,
}

/// Why a stream is over.
type Ending = Option<Fault>;

/// Nobody reads the stream any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone;

/// Opens a stream, in which this message means nothing but that somebody is there.
pub(super) fn open(pace: Pace, keepalive: &impl Serialize) -> (Feed, Response<Body>) {
    let (frames, received) = mpsc::channel(QUEUE);
    let (ending, ended) = watch::channel(None);
    let reader = Reader {
        frames: received,
        ended,
        pace,
        keepalive: message_frame(keepalive).unwrap_or_default(),
    };
    let frames_of_body = stream::unfold(Some(reader), |reader| async {
        let mut reader = reader?;
        let (frame, is_last) = reader.next().await;
        Some((Ok(BodyFrame::data(frame)), (!is_last).then_some(reader)))
    });
    let body = StreamBody::new(frames_of_body).boxed_unsync();
    (Feed { frames, ending }, answer(body))
}

/// A stream that ends before its first message.
pub(super) fn refused(fault: Fault) -> Response<Body> {
    answer(full(end_frame(Some(fault))))
}

fn answer(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(STREAM));
    response
}

impl Feed {
    /// Sends a message as soon as there is room for it.
    pub(super) async fn send(&self, message: &impl Serialize) -> Result<(), Gone> {
        match message_frame(message) {
            Ok(frame) => self.push(frame).await,
            Err(error) => {
                let message = format!("a message cannot be written: {error}");
                self.end(Some(Fault::new(Code::Internal, message)));
                Err(Gone)
            }
        }
    }

    /// Sends a frame as soon as there is room for it. A reader who takes nothing for too long is given up.
    pub(super) async fn push(&self, frame: Bytes) -> Result<(), Gone> {
        let mut ended = self.ending.subscribe();
        if ended.borrow().is_some() {
            return Err(Gone);
        }
        tokio::select! {
            room = timeout(PATIENCE, self.frames.reserve()) => match room {
                Ok(Ok(room)) => {
                    room.send(frame);
                    Ok(())
                }
                Ok(Err(_)) => Err(Gone),
                Err(_) => {
                    let message = "nothing of the stream was read for 5 minutes, so it was cut off; connect again";
                    self.end(Some(Fault::new(Code::ResourceExhausted, message)));
                    Err(Gone)
                }
            },
            // Somebody else ended it meanwhile.
            _ = ended.wait_for(Option::is_some) => Err(Gone),
        }
    }

    /// Ends the stream after what was sent so far. Only the first end counts.
    pub(super) fn end(&self, fault: Ending) {
        self.ending.send_if_modified(|ending| {
            let is_first = ending.is_none();
            ending.get_or_insert(fault);
            is_first
        });
    }

    /// Whether it has ended, or nobody reads it any more.
    pub(super) fn is_over(&self) -> bool {
        self.frames.is_closed() || self.ending.borrow().is_some()
    }

    /// Waits until nobody reads the stream any more.
    pub(super) async fn gone(&self) {
        self.frames.closed().await;
    }
}

/// What reads what was fed, and writes the signs of life and the last word.
#[derive(Debug)]
struct Reader {
    frames: mpsc::Receiver<Bytes>,
    ended: watch::Receiver<Option<Ending>>,
    pace: Pace,
    keepalive: Bytes,
}

impl Reader {
    /// The next frame, and whether it is the last.
    async fn next(&mut self) -> (Bytes, bool) {
        let deadline = async {
            match self.pace.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let mut ending = self.ended.clone();
        let has_ended = async move {
            let _ = ending.wait_for(Option::is_some).await;
        };
        tokio::select! {
            biased;
            () = deadline => {
                let fault = Fault::new(Code::DeadlineExceeded, "the time that the call was given is over");
                (end_frame(Some(fault)), true)
            },
            frame = self.frames.recv() => match frame {
                Some(frame) => (frame, false),
                None => (last(&self.ended), true),
            },
            // Nothing is sent after the end, but some of what was sent before may still be here.
            () = has_ended => match self.frames.try_recv() {
                Ok(frame) => (frame, false),
                Err(_) => (last(&self.ended), true),
            },
            () = sleep(self.pace.keepalive) => (self.keepalive.clone(), false),
        }
    }
}

fn last(ended: &watch::Receiver<Option<Ending>>) -> Bytes {
    let broken = || {
        Some(Fault::new(
            Code::Internal,
            "the stream broke off inside the sandbox",
        ))
    };
    end_frame(ended.borrow().clone().unwrap_or_else(broken))
}

#[cfg(test)]
mod tests;
