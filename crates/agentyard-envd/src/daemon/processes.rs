//! `process.Process`: programs that are started, listened to, talked to and ended.
//!
//! A process belongs to the sandbox and not to who started it: it goes on when nobody listens any more, and ends by
//! itself, by a signal, when the time of its start is over, or with the sandbox.

mod end;
mod input;
mod launch;
mod life;
mod output;
mod process;
mod table;

use http::{Request, Response};

use self::process::Process;
use self::table::Found;
pub(super) use self::table::Processes;
use super::calls::{self, Nothing, unary};
use super::routes::{Daemon, unknown};
use super::streams::{self, Feed, Incoming};
use crate::connect::{Code, Fault, STREAM, end_frame, message_frame};
use crate::exchange::{Body, full};
use crate::process::{
    Event, EventMessage, ListResponse, ProcessRequest, SendInputRequest, SendSignalRequest, StartRequest,
    StreamInputMessage, UpdateRequest,
};

/// What means nothing in a stream of events.
const KEEPALIVE: EventMessage = EventMessage {
    event: Event::Keepalive {},
};

/// A call of `process.Process`.
pub(super) async fn answer(daemon: &Daemon, method: &str, request: Request<Body>) -> Response<Body> {
    match method {
        "Start" => start(daemon, request).await.unwrap_or_else(streams::refused),
        "Connect" => connect(daemon, request).await.unwrap_or_else(streams::refused),
        "StreamInput" => stream_input(daemon, request)
            .await
            .unwrap_or_else(streams::refused),
        "List" => {
            let list = |_: Nothing| async {
                Ok(ListResponse {
                    processes: daemon.processes.list(),
                })
            };
            unary(request, list).await
        }
        "SendInput" => {
            let send = async |asked: SendInputRequest| {
                daemon
                    .processes
                    .running(&asked.process)?
                    .take(&asked.input)
                    .await?;
                Ok(Nothing {})
            };
            unary(request, send).await
        }
        "CloseStdin" => {
            let close = async |asked: ProcessRequest| {
                daemon.processes.running(&asked.process)?.close_input().await?;
                Ok(Nothing {})
            };
            unary(request, close).await
        }
        "SendSignal" => {
            let send = async |asked: SendSignalRequest| {
                daemon.processes.running(&asked.process)?.signal(asked.signal)?;
                Ok(Nothing {})
            };
            unary(request, send).await
        }
        "Update" => {
            let update = async |asked: UpdateRequest| {
                let process = daemon.processes.running(&asked.process)?;
                asked.pty.map_or(Ok(()), |pty| process.resize(pty.size))?;
                Ok(Nothing {})
            };
            unary(request, update).await
        }
        _ => calls::refused(&unknown(request.uri().path())),
    }
}

async fn start(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let time = calls::time_of(request.headers());
    let (asked, mut pace) = streams::asked::<StartRequest>(request).await?;
    // When the time is over, what looks after the process ends both it and the stream.
    pace.deadline = None;
    let place = daemon.processes.place()?;
    let launched = launch::launch(daemon, asked)?;
    let (feed, response) = streams::open(pace, &KEEPALIVE);
    let process = daemon.processes.add(launched.process);
    listen(&process, feed.clone()).await;
    let timer = time.map(|time| life::Timer { time, feed });
    tokio::spawn(life::live(
        daemon.clone(),
        process,
        launched.child,
        launched.output,
        timer,
        place,
    ));
    Ok(response)
}

async fn connect(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let (asked, pace) = streams::asked::<ProcessRequest>(request).await?;
    let found = daemon.processes.find(&asked.process)?;
    let (feed, response) = streams::open(pace, &KEEPALIVE);
    match found {
        Found::Running(process) => listen(&process, feed).await,
        Found::Ended { pid, end } => {
            // A reader who is gone already has nothing to miss, and there is room for both.
            let _ = feed.send(&message(Event::Start { pid })).await;
            let _ = feed.send(&message(Event::End(end))).await;
            feed.end(None);
        }
    }
    Ok(response)
}

/// Lets a stream have what the process says from now on.
async fn listen(process: &Process, feed: Feed) {
    let start = message(Event::Start { pid: process.pid });
    if feed.send(&start).await.is_ok() {
        process.listen(feed).await;
    }
}

/// Input in many messages, all of which have been taken when it is answered.
async fn stream_input(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let time = calls::time_of(request.headers());
    let mut messages = Incoming::new(request.into_body());
    let taken = async {
        let mut process = None;
        while let Some(message) = messages.next::<StreamInputMessage>().await? {
            match (message, &process) {
                (StreamInputMessage::Start { process: selector }, _) => {
                    process = Some(daemon.processes.running(&selector)?);
                }
                (StreamInputMessage::Data { input }, Some(process)) => process.take(&input).await?,
                (StreamInputMessage::Data { .. }, None) => {
                    let message = "input came before the message that names a process";
                    return Err(Fault::new(Code::FailedPrecondition, message));
                }
                (StreamInputMessage::Keepalive {}, _) => {}
            }
        }
        Ok(())
    };
    match time {
        None => taken.await?,
        Some(time) => tokio::time::timeout(time, taken)
            .await
            .unwrap_or_else(|_| Err(calls::too_late(time)))?,
    }
    let mut answer = message_frame(&Nothing {}).unwrap_or_default().to_vec();
    answer.extend(end_frame(None));
    let mut response = Response::new(full(answer));
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(STREAM));
    Ok(response)
}

fn message(event: Event) -> EventMessage {
    EventMessage { event }
}
