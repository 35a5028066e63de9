//! Which calls are in progress, so that a server can wait for them before it stops.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::Method;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::edge::OpenEnded;

/// The calls in progress.
#[derive(Clone, Default)]
pub(super) struct Drain {
    calls: TaskTracker,
}

impl Drain {
    /// Counts the calls of these routes.
    pub(super) fn track(&self, routes: Router) -> Router {
        routes.layer(from_fn_with_state(self.clone(), count))
    }

    /// Waits until there are none, and says whether that came in time.
    pub(super) async fn finished(&self, patience: Duration) -> bool {
        self.calls.close();
        tokio::time::timeout(patience, self.calls.wait()).await.is_ok()
    }
}

/// A call lasts until the last byte of its answer. A `GET` is not waited for: it changes
/// nothing, and an event stream would never end; nor is what lasts until something else ends.
async fn count(State(drain): State<Drain>, request: Request, next: Next) -> Response {
    if request.method() == Method::GET {
        return next.run(request).await;
    }
    let token = drain.calls.token();
    let response = next.run(request).await;
    if OpenEnded::is(&response) {
        return response;
    }
    response.map(|body| Body::new(Counted { body, _token: token }))
}

/// A body whose call ends with it.
struct Counted {
    body: Body,
    _token: TaskTrackerToken,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    use axum::routing::post;
    use futures::stream;
    use tower::ServiceExt;

    use super::*;

    fn endless(open_ended: bool) -> Response {
        let body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let mut response = Response::new(body);
        if open_ended {
            response.extensions_mut().insert(OpenEnded);
        }
        response
    }

    #[tokio::test(start_paused = true)]
    async fn what_lasts_until_something_else_ends_is_not_waited_for() {
        for open_ended in [true, false] {
            let drain = Drain::default();
            let answer = post(move || async move { endless(open_ended) });
            let app = drain.track(Router::new().route("/", answer));
            let request = Request::post("/").body(Body::empty()).unwrap();
            let going_on = app.oneshot(request).await.unwrap();
            assert_eq!(drain.finished(Duration::from_secs(1)).await, open_ended);
            drop(going_on);
            assert!(drain.finished(Duration::from_secs(1)).await);
        }
    }
}
