//! Server-sent events: a call shown while it goes on, and a run followed or gone back to.
//!
//! Every stream ends with `complete` or `error`. Before that come `progress` and, from a run, `stdout` and `stderr`. The
//! events of a run have numbers as ids, so that a client that was cut off can come back for the rest.

use std::convert::Infallible;
use std::time::Duration;

use agentyard_model::{Caller, RequestId};
use agentyard_operations::{Face, Registered};
use agentyard_services::{Error, Following, Result};
use axum::extract::{Path, Query, Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::channel::mpsc;
use futures::{FutureExt, Stream, StreamExt, stream};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::edge::Refusal;
use crate::live::LiveEvent;
use crate::platform::Platform;
use crate::run_output::run_id;

/// How often a stream on which nothing happens shows that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a client is to wait before it comes back.
const RETRY: Duration = Duration::from_secs(1);

/// How many events may wait for a client that reads slowly. Past that, the call waits with them; a run does not, since
/// it keeps what it said.
const WAITING_EVENTS: usize = 64;

/// What streams need.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) platform: Platform,
    /// Ends them all.
    pub(super) end: CancellationToken,
}

/// Whether a client wants to see a call while it goes on.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| {
            let kind = kind.split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("text/event-stream")
        })
}

/// Shows a call. It is made while its stream is read, and dropped with it.
pub(super) fn show_call(
    streams: &Streams,
    operation: &'static Registered,
    caller: Caller,
    arguments: Map<String, Value>,
) -> Response {
    let (sender, receiver) = mpsc::channel(WAITING_EVENTS);
    let platform = streams.platform.clone();
    let request_id = caller.request_id.clone();
    let call = async move {
        let (services, presentation) = (&platform.services, platform.presentation);
        operation
            .call_live(services, &caller, arguments, presentation, Face::Rest, sender)
            .await;
    };
    let seen = receiver.map(move |live| LiveEvent::of(live, &request_id));
    let call = call.into_stream().filter_map(|()| std::future::ready(None));
    respond(streams, stream::select(seen, call))
}

/// Where to begin to follow a run.
#[derive(Deserialize)]
pub(super) struct Place {
    after: Option<u64>,
}

/// Follows a run: `GET /v1/runs/{run}/events`.
pub(super) async fn follow(
    State(streams): State<Streams>,
    Path(run): Path<String>,
    Query(place): Query<Place>,
    mut request: Request,
) -> Response {
    let caller = request
        .extensions_mut()
        .remove::<Caller>()
        .unwrap_or_else(Caller::anonymous);
    let caller = streams.platform.selection.restrict(caller);
    match following(&streams.platform, &caller, &run, place, request.headers()) {
        Err(error) => Refusal::from(&error).into_response(),
        // A client that has seen all would otherwise come back for ever.
        Ok(following) if following.has_seen_all() => StatusCode::NO_CONTENT.into_response(),
        Ok(following) => respond(&streams, run_events(following, caller.request_id)),
    }
}

fn following(
    platform: &Platform,
    caller: &Caller,
    run: &str,
    place: Place,
    headers: &HeaderMap,
) -> Result<Following> {
    let run = run_id(run)?;
    let last_seen = match headers.get("last-event-id") {
        None => place.after,
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.parse().ok());
            Some(number.ok_or_else(|| Error::invalid("`Last-Event-ID`: expected the number of an event"))?)
        }
    };
    platform.services.runs.follow(caller, run, last_seen)
}

fn run_events(following: Following, request_id: RequestId) -> impl Stream<Item = LiveEvent> {
    stream::unfold((following, request_id), |(mut following, request_id)| async {
        let followed = following.next().await?;
        let event = LiveEvent::of_run(following.run(), &followed, &request_id);
        Some((event, (following, request_id)))
    })
}

fn respond(streams: &Streams, events: impl Stream<Item = LiveEvent> + Send + 'static) -> Response {
    let retry = Event::default().retry(RETRY);
    let events = stream::once(std::future::ready(retry))
        .chain(events.map(|event| sent(&event)))
        .map(Ok::<_, Infallible>)
        .take_until(streams.end.clone().cancelled_owned());
    let unbuffered = (
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    let body = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    ([unbuffered], body).into_response()
}

/// JSON holds no line end, so any event is one line of data.
fn sent(event: &LiveEvent) -> Event {
    let sent = match event.id {
        Some(id) => Event::default().id(id.to_string()),
        None => Event::default(),
    };
    sent.event(event.name).data(event.data.to_string())
}
