//! A service that means harm, or is broken: whatever it says is refused in time, and leads nowhere.

use std::convert::Infallible;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentyard_envd::{Body, empty, full};
use agentyard_model::Secret;
use agentyard_sandbox::{CommandError, E2b, E2bSettings, Event, Limits, Reach, Sandbox as _, Site};
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Collected, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use serde_json::json;
use tar::{EntryType, Header};
use tokio::net::TcpListener;

use crate::sandbox_suite::place::Place;

/// What is asked of the service: the call, and what came with it.
struct Asked {
    call: String,
    body: Bytes,
    of_daemon: bool,
}

impl Asked {
    fn is_creation(&self) -> bool {
        self.call == "POST /v2/sandboxes"
    }

    fn has(&self, word: &str) -> bool {
        self.body.windows(word.len()).any(|part| part == word.as_bytes())
    }
}

type Calls = Arc<Mutex<Vec<String>>>;

/// Serves as it is told, and remembers what it was asked.
async fn serve(answer: impl Fn(&Asked) -> Response<Body> + Send + Sync + 'static) -> (Calls, String) {
    let calls = Calls::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (remembered, answer) = (Arc::clone(&calls), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (calls, answer) = (Arc::clone(&remembered), Arc::clone(&answer));
            let answering = service_fn(move |request: Request<Incoming>| {
                let (calls, answer) = (Arc::clone(&calls), Arc::clone(&answer));
                async move {
                    let (parts, body) = request.into_parts();
                    let asked = Asked {
                        call: format!("{} {}", parts.method, parts.uri.path()),
                        body: body.collect().await.map(Collected::to_bytes).unwrap_or_default(),
                        of_daemon: parts.headers.contains_key("e2b-sandbox-id"),
                    };
                    calls.lock().unwrap().push(asked.call.clone());
                    Ok::<_, Infallible>(answer(&asked))
                }
            });
            tokio::spawn(async move {
                let _ = Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), answering)
                    .await;
            });
        }
    });
    (calls, url)
}

fn said(status: u16, body: impl Into<Bytes>) -> Response<Body> {
    Response::builder().status(status).body(full(body)).unwrap()
}

fn made() -> Response<Body> {
    said(
        201,
        json!({ "sandboxID": "abc", "envdAccessToken": "token" }).to_string(),
    )
}

/// A body that never ends, a piece at a time.
fn endless(piece: &'static [u8], pause: Duration) -> Body {
    let pieces = stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok(Frame::data(Bytes::from_static(piece))), ()))
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn frames(messages: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, text) in messages.iter().chain(&["{}"]).enumerate() {
        bytes.push(if index == messages.len() { 2 } else { 0 });
        bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

const START: &str = r#"{"event":{"start":{"pid":1}}}"#;
const END: &str = r#"{"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}}"#;

fn e2b(url: &str) -> E2b {
    E2b::new(E2bSettings {
        api_key: Secret::new("key-of-mine"),
        api_url: Some(url.to_owned()),
        sandbox_url: Some(url.to_owned()),
        ..E2bSettings::default()
    })
    .unwrap()
}

fn site() -> Site {
    Site {
        image: None,
        mounts: Vec::new(),
        environment: Vec::new(),
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: Duration::from_secs(60),
    }
}

async fn ended(e2b: &E2b, command: agentyard_sandbox::Command) -> Result<(), CommandError> {
    let mut running = e2b.start(command).await?;
    while !matches!(running.next().await?, Event::Ended(_)) {}
    Ok(())
}

#[tokio::test]
async fn nobody_else_is_asked_because_of_a_redirect() {
    let (others, elsewhere) = serve(|_| made()).await;
    let to = |status: u16, place: &str| {
        let answer = Response::builder().status(status).header("location", place);
        answer.body(empty()).unwrap()
    };
    for status in [301, 302, 303, 307, 308] {
        let place = format!("{elsewhere}/v2/sandboxes");
        let (_, url) = serve(move |_| to(status, &place)).await;
        let error = e2b(&url).stand_up(site()).await.unwrap_err().to_string();
        assert!(error.contains(&status.to_string()), "{error}");
    }
    let place = elsewhere.clone();
    let (_, url) = serve(
        move |asked| {
            if asked.of_daemon { to(307, &place) } else { made() }
        },
    )
    .await;
    let place = Place::new();
    assert!(ended(&e2b(&url), place.command(&["true"])).await.is_err());
    assert!(others.lock().unwrap().is_empty());
}

#[tokio::test]
async fn answers_that_are_too_long_or_make_no_sense_are_refused() {
    let (_, url) = serve(|_| {
        let body = endless(&[b'x'; 64 * 1024], Duration::ZERO);
        Response::builder().status(201).body(body).unwrap()
    })
    .await;
    let error = e2b(&url).stand_up(site()).await.unwrap_err().to_string();
    assert!(error.contains("it is too long"), "{error}");
    let deep = "[".repeat(100_000);
    let long = json!({ "sandboxID": ["\u{1b}[2J".repeat(9000)] }).to_string();
    let elsewhere = json!({ "sandboxID": "../../evil" }).to_string();
    for nonsense in ["", "{", "null", "[]", "{}", "<html>", &deep, &long, &elsewhere] {
        let body = nonsense.to_owned();
        let (calls, url) = serve(move |_| said(201, body.clone())).await;
        let error = e2b(&url).stand_up(site()).await.unwrap_err().to_string();
        assert!(error.contains("not to be understood"), "{error}");
        assert!(error.len() < 800 && !error.contains(char::is_control), "{error}");
        assert_eq!(
            *calls.lock().unwrap(),
            ["POST /v2/sandboxes"],
            "nobody is asked by that name"
        );
    }
}

#[tokio::test]
async fn a_sandbox_that_does_not_end_a_command_is_given_up() {
    let (calls, url) = serve(|asked| match asked {
        _ if asked.is_creation() => made(),
        _ if asked.has("\"sleep\"") => {
            // It starts, lives, and does not care.
            let begun = stream::iter([Ok(Frame::data(Bytes::from(
                frames(&[START])[..5 + START.len()].to_vec(),
            )))]);
            let alive = b"\0\0\0\0\x1a{\"event\":{\"keepalive\":{}}}";
            let goes_on = endless(alive, Duration::from_millis(100)).into_data_stream();
            let goes_on = futures::StreamExt::map(goes_on, |piece| piece.map(Frame::data));
            let body = StreamBody::new(futures::StreamExt::chain(begun, goes_on)).boxed_unsync();
            Response::new(body)
        }
        _ if asked.call.ends_with("/Start") => said(200, frames(&[START, END])),
        _ if asked.call.ends_with("/SendSignal") => said(200, "{}"),
        _ => said(204, ""),
    })
    .await;
    let (e2b, place) = (e2b(&url), Place::new());
    let mut command = place.command(&["sleep", "1000"]);
    command.limits.duration = Duration::from_secs(1);
    let error = ended(&e2b, command).await.unwrap_err().to_string();
    assert!(error.contains("was given up"), "{error}");
    e2b.end().await;
    assert!(
        calls
            .lock()
            .unwrap()
            .contains(&"DELETE /sandboxes/abc".to_owned())
    );
}

/// An archive with one entry, of which nothing is checked while it is made.
fn archive(path: &str, kind: EntryType, target: &str) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_mode(0o6777);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, &b""[..]).unwrap();
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn nothing_comes_back_from_elsewhere_or_goes_there() {
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().join("made").display().to_string();
    let link = |name: &str| format!("0\0{name}\0f\x000\x001.0\x001.0\x00644\0\0");
    let cases: Vec<(String, Vec<u8>)> = vec![
        // What is listed leads elsewhere.
        (link("../made"), Vec::new()),
        (link(&absolute), Vec::new()),
        (link("a/../../made"), Vec::new()),
        // What comes is not what was asked for, or is none of the things that may come.
        (link("made"), archive("../made", EntryType::Regular, "")),
        (link("made"), archive(&absolute, EntryType::Regular, "")),
        (link("made"), archive(".git/config", EntryType::Regular, "")),
        (link("made"), archive("made", EntryType::Link, "/etc/passwd")),
        (link("made"), archive("made", EntryType::Char, "")),
        (link("made"), archive("made", EntryType::Fifo, "")),
        (link("made"), b"no archive at all".repeat(100)),
    ];
    for (listing, archive) in cases {
        let (lists, shown) = (AtomicUsize::new(0), listing.escape_debug().to_string());
        let (_, url) = serve(move |asked| match asked {
            _ if asked.is_creation() => made(),
            // The first list is of what was sent.
            _ if asked.has("-printf") && lists.fetch_add(1, Ordering::Relaxed) > 0 => {
                use base64::Engine as _;
                let listing = base64::engine::general_purpose::STANDARD.encode(&listing);
                let told = format!(r#"{{"event":{{"data":{{"stdout":"{listing}"}}}}}}"#);
                said(200, frames(&[START, &told, END]))
            }
            _ if asked.call.ends_with("/Start") => said(200, frames(&[START, END])),
            _ if asked.call == "GET /files" => said(200, archive.clone()),
            _ => said(204, ""),
        })
        .await;
        let place = Place::new();
        let error = ended(&e2b(&url), place.command(&["true"]))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("could not be brought back"), "{shown}: {error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{shown}");
        assert!(!place.path().parent().unwrap().join("made").exists(), "{shown}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{shown}");
    }
}

#[tokio::test]
async fn what_a_daemon_says_about_a_failure_is_passed_on_in_short() {
    let (_, url) = serve(|asked| {
        if asked.is_creation() {
            return made();
        }
        let message = "\u{1b}[2Jno".repeat(10_000);
        said(
            400,
            json!({ "code": "invalid_argument", "message": message }).to_string(),
        )
    })
    .await;
    let place = Place::new();
    let error = ended(&e2b(&url), place.command(&["true"]))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.len() < 800 && !error.contains(char::is_control), "{error}");
}
