//! How much at once.

use std::sync::Arc;

use agentyard_gateway::edge::{AuthSettings, Edge, HttpSettings};
use agentyard_model::Clock;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Method;
use http::header::CONTENT_TYPE;
use tokio::sync::{Notify, mpsc};
use tower::ServiceExt;

use crate::edge_yard::{Answer, HOME, Known, refusal, request};

/// A router whose handlers wait until they are told to go on.
struct Busy {
    app: Router,
    entered: mpsc::UnboundedReceiver<()>,
    leave: Arc<Notify>,
}

fn busy(change: impl FnOnce(&mut HttpSettings)) -> Busy {
    let mut http = HttpSettings::default();
    change(&mut http);
    let identities = Arc::new(Known::default());
    let edge = Edge::new(&http, &AuthSettings::default(), identities, Clock::System).unwrap();
    let (enter, entered) = mpsc::unbounded_channel();
    let leave = Arc::new(Notify::new());
    let waiting = Arc::clone(&leave);
    let wait = move || {
        let (enter, waiting) = (enter.clone(), Arc::clone(&waiting));
        async move {
            enter.send(()).unwrap();
            waiting.notified().await;
            "done"
        }
    };
    let endless = || stream::iter([Ok::<_, std::io::Error>(Bytes::from("x"))]).chain(stream::pending());
    let app = Router::new()
        .route("/wait", get(wait))
        .route(
            "/pack",
            get(move || async move { Body::from_stream(endless()).into_response() }),
        )
        .route(
            "/events",
            get(move || async move {
                (
                    [(CONTENT_TYPE, "text/event-stream")],
                    Body::from_stream(endless()),
                )
            }),
        )
        .route("/quick", get(|| async { "quick" }));
    Busy {
        app: edge.enclose(edge.public(app)),
        entered,
        leave,
    }
}

impl Busy {
    async fn get(&self, path: &str) -> Response {
        let request = request(Method::GET, path, HOME, &[]);
        self.app.clone().oneshot(request).await.unwrap()
    }
}

#[tokio::test]
async fn too_much_at_once_is_shed_and_not_queued() {
    let mut busy = busy(|http| http.max_concurrent_requests = 2);
    let spawn = |app: &Router| tokio::spawn(app.clone().oneshot(request(Method::GET, "/wait", HOME, &[])));
    let first = spawn(&busy.app);
    let second = spawn(&busy.app);
    busy.entered.recv().await.unwrap();
    busy.entered.recv().await.unwrap();
    let answer = Answer::of(busy.get("/quick").await).await;
    assert_eq!(answer.refused(), refusal(503, "unavailable"));
    assert_eq!(answer.header("retry-after"), "1");
    busy.leave.notify_waiters();
    for task in [first, second] {
        assert_eq!(Answer::of(task.await.unwrap().unwrap()).await.text, "done");
    }
    assert_eq!(busy.get("/quick").await.status(), 200);
    // A caller who goes away makes room as well.
    let gone = [spawn(&busy.app), spawn(&busy.app)];
    busy.entered.recv().await.unwrap();
    busy.entered.recv().await.unwrap();
    for task in gone {
        task.abort();
        assert!(task.await.is_err());
    }
    assert_eq!(busy.get("/quick").await.status(), 200);
}

#[tokio::test]
async fn an_answer_holds_its_place_until_its_last_byte() {
    let busy = busy(|http| {
        http.max_concurrent_requests = 1;
        http.max_event_streams = 2;
    });
    let pack = busy.get("/pack").await;
    assert_eq!(busy.get("/quick").await.status(), 503);
    drop(pack);
    let quick = busy.get("/quick").await;
    assert_eq!(quick.headers()["content-length"], "5");
    drop(quick);
    // Streams that wait for events have places of their own.
    let streams = [busy.get("/events").await, busy.get("/events").await];
    assert_eq!(busy.get("/quick").await.status(), 200);
    let answer = Answer::of(busy.get("/events").await).await;
    assert_eq!(answer.refused(), refusal(503, "unavailable"));
    drop(streams);
    assert_eq!(busy.get("/events").await.status(), 200);
}
