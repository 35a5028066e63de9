//! Sandboxes of a service that is played here: what it is asked for, and what is left when nobody wants them any more.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentyard_envd::{Exchange as _, empty};
use agentyard_model::Secret;
use agentyard_sandbox::{
    Command, E2b, E2bSettings, EndCause, Event, Exit, Limits, Network, PoolSettings, Reach, Sandbox as _,
    Site, Standing,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::sandbox_suite::place::Place;

/// A service without sandboxes: it remembers what it was asked for, and answers for daemons.
#[derive(Debug, Default)]
struct Service {
    calls: Vec<(String, Value)>,
    keys: Vec<String>,
    alive: BTreeSet<String>,
    made: u32,
    /// What is answered to the next creations in place of a sandbox: status, header.
    busy: Vec<(u16, Option<(&'static str, &'static str)>)>,
    /// What a snapshot is called.
    snapshot: String,
    /// Which sandboxes were talked to.
    visited: BTreeSet<String>,
    /// How many may be made, where that is not all that are asked for.
    gate: Option<Arc<Semaphore>>,
    /// How many were asked for.
    asked: u32,
    /// How many programs called `sleep` may end.
    woken: Option<Arc<Semaphore>>,
}

type Shared = Arc<Mutex<Service>>;

async fn serve() -> (Shared, String) {
    let service = Shared::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::clone(&service);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let answering = service_fn(move |request| answer(Arc::clone(&shared), request));
                let _ = Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), answering)
                    .await;
            });
        }
    });
    (service, url)
}

async fn answer(service: Shared, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    if body.windows(7).any(|word| word == b"\"sleep\"") {
        let woken = service.lock().unwrap().woken.clone();
        woken.unwrap().acquire().await.unwrap().forget();
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if parts.method == Method::POST && parts.uri.path() == "/v2/sandboxes" {
        let gate = {
            let mut service = service.lock().unwrap();
            service.asked += 1;
            service.gate.clone()
        };
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
    }
    let mut service = service.lock().unwrap();
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let said = |status: u16, body: Value| {
        Response::builder()
            .status(status)
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap()
    };
    if let Some(id) = header("e2b-sandbox-id") {
        let path = parts.uri.path().to_owned();
        service.visited.insert(id.clone());
        let told = json!({ "port": header("e2b-sandbox-port"), "token": header("x-access-token") });
        service.calls.push((format!("daemon {path}"), told));
        if !service.alive.contains(&id) {
            let text = format!("The sandbox {id} was not found");
            return Ok(Response::builder()
                .status(502)
                .body(Full::new(text.into()))
                .unwrap());
        }
        if path.ends_with("/Start") {
            // As if the program had run well.
            let frames: [(u8, &str); 3] = [
                (0, r#"{"event":{"start":{"pid":1}}}"#),
                (
                    0,
                    r#"{"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}}"#,
                ),
                (2, "{}"),
            ];
            let mut bytes = Vec::new();
            for (flag, text) in frames {
                bytes.push(flag);
                bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
                bytes.extend(text.as_bytes());
            }
            return Ok(Response::new(Full::new(bytes.into())));
        }
        return Ok(said(204, Value::Null));
    }
    assert_eq!(header("x-api-key").as_deref(), Some("key-of-mine"));
    service
        .calls
        .push((format!("{} {}", parts.method, parts.uri), body));
    let segments: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
    let id = segments
        .iter()
        .position(|part| *part == "sandboxes")
        .and_then(|at| segments.get(at + 1));
    if let ["templates", _] = segments[..] {
        let is_there = parts.uri.path().ends_with("/team%2Fname%3Av1");
        return Ok(said(if is_there { 204 } else { 404 }, Value::Null));
    }
    Ok(match (parts.method, id) {
        (Method::POST, None) => {
            service.keys.extend(header("idempotency-key"));
            if let Some((status, header)) = service.busy.pop() {
                let mut answer = said(status, json!({ "code": status, "message": "not now" }));
                if let Some((name, value)) = header {
                    answer.headers_mut().insert(name, value.parse().unwrap());
                }
                return Ok(answer);
            }
            service.made += 1;
            let id = format!("sandbox{}", service.made);
            service.alive.insert(id.clone());
            said(
                201,
                json!({ "sandboxID": id, "templateID": "base", "envdAccessToken": "token-of-it" }),
            )
        }
        (Method::GET, None) => said(200, json!([])),
        (_, Some(id)) if !service.alive.contains(*id) => said(404, json!({ "code": 404, "message": "gone" })),
        (Method::DELETE, Some(id)) => {
            service.alive.remove(*id);
            said(204, Value::Null)
        }
        (Method::GET, Some(_)) => said(200, json!([{ "memUsed": 5 }, { "memUsed": 7, "diskUsed": 9 }])),
        (_, Some(_)) if parts.uri.path().ends_with("snapshots") => {
            said(201, json!({ "snapshotID": service.snapshot, "names": [] }))
        }
        (_, Some(_)) if parts.uri.path().ends_with("fork") => {
            service.made += 1;
            let id = format!("sandbox{}", service.made);
            service.alive.insert(id.clone());
            let failure = json!({ "code": 429, "message": "too many\u{1b}[2J" });
            let forks = [
                json!({ "sandbox": { "sandboxID": id } }),
                json!({ "error": failure }),
            ];
            said(201, json!(forks))
        }
        (_, Some(id)) if parts.uri.path().ends_with("connect") => said(201, json!({ "sandboxID": id })),
        _ => said(204, Value::Null),
    })
}

fn settings(url: &str) -> E2bSettings {
    E2bSettings {
        api_key: Secret::new("key-of-mine"),
        api_url: Some(url.to_owned()),
        sandbox_url: Some(url.to_owned()),
        ..E2bSettings::default()
    }
}

fn site() -> Site {
    Site {
        image: None,
        mounts: Vec::new(),
        environment: vec![("COLOUR".to_owned(), "blue".to_owned())],
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: Duration::from_secs(60),
    }
}

/// Waits for something to come true, while others get on.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what} never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn calls(service: &Shared, beginning: &str) -> Vec<Value> {
    let service = service.lock().unwrap();
    let found = service
        .calls
        .iter()
        .filter(|(call, _)| call.starts_with(beginning));
    found.map(|(_, body)| body.clone()).collect()
}

async fn health(standing: &Standing) -> Option<StatusCode> {
    let request = Request::get("/health").body(empty()).unwrap();
    standing
        .exchange(request)
        .await
        .ok()
        .map(|answer| answer.status())
}

#[tokio::test]
async fn a_sandbox_is_made_used_and_ended() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    assert_eq!(standing.name().as_deref(), Some("sandbox1"));
    let asked = calls(&service, "POST /v2/sandboxes").remove(0);
    assert_eq!(asked["envVars"], json!({ "COLOUR": "blue" }));
    assert_eq!(
        (&asked["timeout"], &asked["allow_internet_access"]),
        (&json!(60), &json!(false))
    );
    assert_eq!(asked["metadata"], json!({ "agentyard": "standing" }));
    assert_eq!(health(&standing).await, Some(StatusCode::NO_CONTENT));
    let told = calls(&service, "daemon /health").remove(0);
    assert_eq!(told, json!({ "port": "49983", "token": "token-of-it" }));

    standing.renew(Duration::from_secs(900)).await.unwrap();
    let renewed = calls(&service, "POST /sandboxes/sandbox1/timeout").remove(0);
    assert!(renewed["timeout"].as_u64().unwrap() >= 899, "{renewed}");
    standing.freeze().await.unwrap();
    // Whoever asks meanwhile waits.
    let (answered, thawed) = tokio::join!(health(&standing), standing.thaw());
    thawed.unwrap();
    assert_eq!(answered, Some(StatusCode::NO_CONTENT));
    assert_eq!(calls(&service, "POST /sandboxes/sandbox1/pause").len(), 1);
    assert_eq!(calls(&service, "POST /v2/sandboxes/sandbox1/connect").len(), 1);
    let load = standing.load().await;
    assert_eq!((load.memory_bytes, load.disk_bytes), (Some(7), Some(9)));
    let reach = Reach {
        network: Network::Full,
        allowed: vec!["example.org".to_owned()],
        denied: Vec::new(),
    };
    standing.set_reach(reach).await.unwrap();
    let network = calls(&service, "PUT /sandboxes/sandbox1/network").remove(0);
    assert_eq!(network["allowOut"], json!(["example.org"]));

    standing.take_down().await;
    assert_eq!(standing.ended().await, EndCause::Stopped);
    assert!(service.lock().unwrap().alive.is_empty());
    assert_eq!(health(&standing).await, None);
}

#[tokio::test]
async fn what_holds_is_tried_once_in_a_sandbox_that_goes_again() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let enforcement = e2b.enforcement().await;
    assert!(enforcement.breaches.is_empty(), "{enforcement:?}");
    // Nothing was seen to hold in this one.
    let weaker = &enforcement.weaker.last().unwrap().what;
    assert!(weaker.contains("memory of each process, "), "{enforcement:?}");
    assert_eq!(e2b.enforcement().await, enforcement);
    let service = service.lock().unwrap();
    assert_eq!((service.made, service.alive.len()), (1, 0));
}

#[tokio::test]
async fn another_port_does_not_learn_the_token() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    let request = Request::get("/page")
        .header("e2b-sandbox-port", "8000")
        .body(empty())
        .unwrap();
    standing.exchange(request).await.unwrap();
    let told = calls(&service, "daemon /page").remove(0);
    assert_eq!(told, json!({ "port": "8000", "token": null }));
}

#[tokio::test]
async fn what_cannot_be_taken_now_is_asked_for_again_and_not_for_ever() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    service.lock().unwrap().busy = vec![(503, None), (429, Some(("retry-after", "0")))];
    e2b.stand_up(site()).await.unwrap().take_down().await;
    {
        let service = service.lock().unwrap();
        assert_eq!((service.made, service.keys.len()), (1, 3));
        assert!(
            service.keys.iter().all(|key| *key == service.keys[0]),
            "{:?}",
            service.keys
        );
    }
    for (busy, tries) in [
        (vec![(429, Some(("retry-after", "0"))); 9], 4),
        (vec![(503, Some(("should-retry", "false")))], 1),
        (vec![(401, None)], 1),
    ] {
        service.lock().unwrap().busy = busy;
        let before = service.lock().unwrap().keys.len();
        let error = e2b.stand_up(site()).await.unwrap_err();
        assert!(error.to_string().contains("not now"), "{error}");
        assert!(!error.to_string().contains("key-of-mine"), "{error}");
        assert_eq!(service.lock().unwrap().keys.len() - before, tries);
    }
}

#[tokio::test]
async fn a_sandbox_is_renewed_while_it_is_there_and_ended_when_it_is_dropped() {
    let (service, url) = serve().await;
    let short = E2bSettings {
        lifetime: Duration::from_millis(1),
        ..settings(&url)
    };
    let e2b = E2b::new(short).unwrap();
    let mut brief = site();
    brief.lifetime = Duration::from_millis(1);
    let standing = e2b.stand_up(brief).await.unwrap();
    let renewals = || calls(&service, "POST /sandboxes/sandbox1/timeout").len();
    eventually("a second renewal", || renewals() >= 2).await;
    drop(standing);
    eventually("the end", || service.lock().unwrap().alive.is_empty()).await;
    assert!(!calls(&service, "DELETE /sandboxes/sandbox1").is_empty());
}

#[tokio::test]
async fn a_sandbox_that_is_gone_is_noticed() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    service.lock().unwrap().alive.clear();
    assert_eq!(health(&standing).await, Some(StatusCode::BAD_GATEWAY));
    assert_eq!(standing.ended().await, EndCause::Itself);
    assert_eq!(health(&standing).await, None);
}

#[tokio::test]
async fn snapshots_are_known_by_what_the_service_calls_them() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    service.lock().unwrap().snapshot = "team/name:v1".to_owned();
    let name = standing.snapshot("mine").await.unwrap();
    assert_eq!(name, "team/name:v1");
    let asked = calls(&service, "POST /sandboxes/sandbox1/snapshots").remove(0);
    assert_eq!(asked, json!({ "name": "mine" }));
    assert_eq!(
        health(&standing).await,
        Some(StatusCode::NO_CONTENT),
        "it goes on"
    );
    e2b.remove_snapshot(&name).await.unwrap();
    assert_eq!(calls(&service, "DELETE /templates/team%2Fname%3Av1").len(), 1);
    // One that is gone is removed.
    e2b.remove_snapshot("other").await.unwrap();
    for nonsense in ["", "a b", "\u{1b}[2J", &"a".repeat(257)] {
        service.lock().unwrap().snapshot = nonsense.to_owned();
        let error = standing.snapshot("mine").await.unwrap_err();
        assert!(error.to_string().contains("is none"), "{nonsense:?}: {error}");
    }
}

#[tokio::test]
async fn forks_are_made_there_and_each_may_fail_by_itself() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    let mut forks = standing.fork(2).await.unwrap();
    let refused = forks.pop().unwrap().unwrap_err().to_string();
    assert!(refused.contains("too many[2J (429"), "{refused}");
    let fork = forks.pop().unwrap().unwrap();
    assert_eq!(fork.name().as_deref(), Some("sandbox2"));
    assert_eq!(health(&fork).await, Some(StatusCode::NO_CONTENT));
    drop((fork, standing));
    eventually("the end of both", || service.lock().unwrap().alive.is_empty()).await;
    // An answer that tells of others than were asked for is none.
    let standing = e2b.stand_up(site()).await.unwrap();
    let error = standing.fork(3).await.unwrap_err().to_string();
    assert!(error.contains("3 copies were asked for"), "{error}");
}

#[tokio::test]
async fn nobody_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let e2b = E2b::new(settings(&url)).unwrap();
    let breaches = e2b.enforcement().await.breaches;
    assert!(breaches[0].reason.contains("127.0.0.1"), "{breaches:?}");
}

#[tokio::test]
async fn sandboxes_wait_for_use_and_none_is_left() {
    let (service, url) = serve().await;
    let pooled = E2bSettings {
        pool: Some(PoolSettings {
            min: 2,
            max: 3,
            time_to_live: Duration::from_secs(3600),
        }),
        ..settings(&url)
    };
    let e2b = E2b::new(pooled).unwrap();
    let alive = || service.lock().unwrap().alive.len();
    let mut plain = site();
    plain.environment.clear();
    let first = e2b.stand_up(plain).await.unwrap();
    eventually("two that wait", || alive() == 3).await;
    let mut plain = site();
    plain.environment.clear();
    let second = e2b.stand_up(plain).await.unwrap();
    // It was there already.
    assert_ne!(second.name().as_deref(), Some("sandbox4"));
    eventually("another in its place", || alive() == 4).await;
    drop((first, second));
    e2b.end().await;
    eventually("the end of all", || alive() == 0).await;
}

#[tokio::test]
async fn what_waited_too_long_is_replaced() {
    let (service, url) = serve().await;
    let pooled = E2bSettings {
        pool: Some(PoolSettings {
            min: 1,
            max: 3,
            time_to_live: Duration::from_millis(200),
        }),
        ..settings(&url)
    };
    let e2b = E2b::new(pooled).unwrap();
    let first = e2b.stand_up(site()).await.unwrap();
    eventually("a third", || service.lock().unwrap().made >= 4).await;
    drop((first, e2b));
    // Dropping it is enough.
    eventually("the end of all", || service.lock().unwrap().alive.is_empty()).await;
}

/// Settings by which so many wait, and that are looked at often.
fn pooled(url: &str, min: usize, max: usize) -> E2bSettings {
    E2bSettings {
        pool: Some(PoolSettings {
            min,
            max,
            time_to_live: Duration::from_secs(3600),
        }),
        // By which it is decided how often.
        idle: Duration::from_secs(1),
        ..settings(url)
    }
}

async fn ran(e2b: &E2b, command: Command) -> Exit {
    let mut running = e2b.start(command).await.unwrap();
    loop {
        if let Event::Ended(exit) = running.next().await.unwrap() {
            return exit;
        }
    }
}

#[tokio::test]
async fn sandboxes_wait_before_anybody_wants_one_also_when_the_service_comes_late() {
    let (service, url) = serve().await;
    service.lock().unwrap().busy = vec![(500, None); 3];
    let e2b = E2b::new(pooled(&url, 2, 3)).unwrap();
    e2b.warm_up().await.unwrap();
    eventually("two that wait", || service.lock().unwrap().alive.len() == 2).await;
    e2b.end().await;
    assert!(service.lock().unwrap().alive.is_empty());
    // Nobody who waits for none is talked to.
    let made = service.lock().unwrap().asked;
    E2b::new(settings(&url)).unwrap().warm_up().await.unwrap();
    assert_eq!(service.lock().unwrap().asked, made);
}

#[tokio::test]
async fn what_waited_and_was_forgotten_by_the_service_is_replaced_without_a_word() {
    let (service, url) = serve().await;
    let e2b = E2b::new(pooled(&url, 3, 10)).unwrap();
    e2b.warm_up().await.unwrap();
    eventually("three that wait", || service.lock().unwrap().alive.len() == 3).await;
    let place = Place::new();
    service.lock().unwrap().alive.clear();
    let mut command = place.command(&["true"]);
    command.network = Network::Full;
    assert_eq!(ran(&e2b, command).await.code, Some(0));
    // So it is where the network is as it was, and the first to notice is who sends files.
    let other = Place::new();
    service.lock().unwrap().alive.clear();
    assert_eq!(ran(&e2b, other.command(&["true"])).await.code, Some(0));
    service.lock().unwrap().alive.clear();
    let mut plain = site();
    plain.environment.clear();
    let standing = e2b.stand_up(plain).await.unwrap();
    assert_eq!(health(&standing).await, Some(StatusCode::NO_CONTENT));
    drop(standing);
    e2b.end().await;
    eventually("the end of all", || service.lock().unwrap().alive.is_empty()).await;
}

#[tokio::test]
async fn nothing_is_left_when_all_ends_while_one_is_made_or_let_go_of() {
    let (service, url) = serve().await;
    let gate = Arc::new(Semaphore::new(2));
    service.lock().unwrap().gate = Some(Arc::clone(&gate));
    let e2b = E2b::new(pooled(&url, 2, 3)).unwrap();
    let standing = e2b.stand_up(site()).await.unwrap();
    eventually("one that waits, and one that is being made", || {
        let service = service.lock().unwrap();
        (service.made, service.asked) == (2, 3)
    })
    .await;
    drop(standing);
    let opened = async {
        tokio::task::yield_now().await;
        gate.add_permits(10);
    };
    tokio::join!(e2b.end(), opened);
    assert!(service.lock().unwrap().alive.is_empty(), "the end is the end");
    let refused = e2b.stand_up(site()).await.unwrap_err().to_string();
    assert!(refused.contains("the server stops"), "{refused}");
    assert!(e2b.start(Place::new().command(&["true"])).await.is_err());
    assert!(service.lock().unwrap().alive.is_empty());
}

#[tokio::test]
async fn workspaces_share_no_sandbox() {
    let (service, url) = serve().await;
    let e2b = E2b::new(settings(&url)).unwrap();
    let (one, other) = (Place::new(), Place::new());
    let visited = |expected: &[&str]| {
        let visited = std::mem::take(&mut service.lock().unwrap().visited);
        assert!(visited.iter().eq(expected), "{visited:?}, not {expected:?}");
    };
    ran(&e2b, one.command(&["true"])).await;
    visited(&["sandbox1"]);
    ran(&e2b, other.command(&["true"])).await;
    visited(&["sandbox2"]);
    ran(&e2b, one.command(&["true"])).await;
    visited(&["sandbox1"]);
    // Who has no files is nobody's neighbour.
    for name in ["sandbox3", "sandbox4"] {
        let mut command = one.command(&["true"]);
        command.mounts.clear();
        ran(&e2b, command).await;
        visited(&[name]);
    }
    e2b.end().await;
    assert!(service.lock().unwrap().alive.is_empty());
}

#[tokio::test]
async fn a_sandbox_is_renewed_while_a_long_command_runs() {
    let (service, url) = serve().await;
    let e2b = E2b::new(E2bSettings {
        lifetime: Duration::from_millis(1),
        ..settings(&url)
    })
    .unwrap();
    let woken = Arc::new(Semaphore::new(0));
    service.lock().unwrap().woken = Some(Arc::clone(&woken));
    let place = Place::new();
    let ended = ran(&e2b, place.command(&["sleep", "1000"]));
    let renewals = || calls(&service, "POST /sandboxes/sandbox1/timeout").len();
    let watched = async {
        eventually("a third renewal", || renewals() >= 3).await;
        woken.add_permits(1);
    };
    let (exit, ()) = tokio::join!(ended, watched);
    assert_eq!(exit.code, Some(0));
    e2b.end().await;
    assert!(service.lock().unwrap().alive.is_empty());
}
