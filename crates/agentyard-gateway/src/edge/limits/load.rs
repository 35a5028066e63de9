//! How much is worked on at once. What is over that is sent away at once: a queue without
//! end only moves the failure to where nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use agentyard_services::ErrorKind;

use crate::edge::refusal::Refusal;
use crate::edge::settings::HttpSettings;

const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The places for requests in progress.
#[derive(Debug)]
pub struct LoadLimit {
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl LoadLimit {
    /// The limit of these settings.
    #[must_use]
    pub fn new(settings: &HttpSettings) -> Self {
        let places = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self {
            requests: places(settings.max_concurrent_requests),
            streams: places(settings.max_event_streams),
        }
    }
}

/// Stands in the extensions of an answer that lasts for as long as something goes on which nobody here works on: it
/// waits rather than works, and a server that stops does not wait for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEnded;

impl OpenEnded {
    pub(crate) fn is(response: &Response) -> bool {
        response.extensions().get::<Self>().is_some()
    }
}

/// The middleware: gives a request a place until the last byte of its answer has gone. An
/// event stream that a client opened to listen moves to a place of its own kind, since it
/// waits rather than works, for hours.
pub async fn shed_load(State(limit): State<Arc<LoadLimit>>, request: Request, next: Next) -> Response {
    let Ok(place) = Arc::clone(&limit.requests).try_acquire_owned() else {
        return overloaded("requests in progress", "http.max_concurrent_requests").into_response();
    };
    let is_get = request.method() == Method::GET;
    let response = next.run(request).await;
    let waits = (is_get && is_event_stream(&response)) || OpenEnded::is(&response);
    if !waits {
        return hold(response, place);
    }
    drop(place);
    match Arc::clone(&limit.streams).try_acquire_owned() {
        Ok(place) => hold(response, place),
        Err(_) => overloaded("event streams", "http.max_event_streams").into_response(),
    }
}

/// Keeps the place for as long as the body lives. It rides on the error mapper, since that
/// combinator passes the body's length on.
fn hold(response: Response, place: OwnedSemaphorePermit) -> Response {
    response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _held = &place;
            error
        }))
    })
}

fn is_event_stream(response: &Response) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

fn overloaded(what: &str, setting: &str) -> Refusal {
    Refusal::new(
        ErrorKind::Unavailable,
        format!("the server has as many {what} as it can take; try again shortly"),
    )
    .with_hint(format!("The limit is `{setting}`."))
    .retry_after(RETRY_AFTER)
}
