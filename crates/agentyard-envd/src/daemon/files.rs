//! Files: `/files` and `filesystem.Filesystem`.

mod download;
mod draft;
mod entries;
mod faults;
mod metadata;
mod moves;
mod multipart;
mod names;
mod paths;
mod ranges;
mod source;
mod tree;
mod upload;
mod watch;
mod work;

use std::io;
use std::path::{Path, PathBuf};

use http::{Method, Request, Response, StatusCode, Uri, header};
use serde::Serialize;
use tokio::signal::unix::SignalKind;

use super::calls::{self, Nothing};
use super::routes::{Daemon, unknown};
use super::{streams, user};
use crate::connect::{Code, Fault};
use crate::exchange::{Body, full};
use crate::filesystem::{
    Changes, EntryResponse, ListRequest, ListResponse, MoveRequest, PathRequest, WatchEvent, WatchRequest,
    Watcher, parameter,
};
use paths::resolved;

/// What is at work with files, and who watches them.
#[derive(Debug)]
pub(super) struct Files {
    work: work::Work,
    watches: watch::Watches,
}

impl Files {
    pub(super) fn new() -> Self {
        Self {
            work: work::Work::new(),
            watches: watch::Watches::new(),
        }
    }
}

/// Lets a write fail that would make a file longer than is allowed. By itself, the kernel ends who attempts it with a
/// signal, unless that is listened to; what is started here is ended as ever.
pub(super) fn outlive_long_files() -> io::Result<()> {
    let signal = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    tokio::signal::unix::signal(signal).map(drop)
}

/// `GET` and `POST /files`.
pub(super) async fn transfer(daemon: &Daemon, request: Request<Body>) -> Response<Body> {
    let transferred = match *request.method() {
        Method::GET => send(daemon, request).await,
        Method::POST => receive(daemon, request).await,
        _ => {
            let message = "files are read with GET and written with POST";
            return told(StatusCode::METHOD_NOT_ALLOWED, message);
        }
    };
    transferred.unwrap_or_else(|fault| {
        let status = match fault.code {
            Code::ResourceExhausted => StatusCode::INSUFFICIENT_STORAGE,
            code => code.status(),
        };
        told(status, &fault.message)
    })
}

async fn send(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let (head, _) = request.into_parts();
    let path = path_of(daemon, &head.uri)?.ok_or_else(|| {
        Fault::new(
            Code::InvalidArgument,
            "the query must have a `path`: which file is to be read",
        )
    })?;
    download::send(&daemon.files.work, path, &head.headers).await
}

async fn receive(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let path = path_of(daemon, request.uri())?;
    let written = upload::receive(&daemon.files.work, &daemon.home, path, request).await?;
    calls::json(&written)
}

/// Which file is meant, if the query says so, and as whom it may be used.
fn path_of(daemon: &Daemon, address: &Uri) -> Result<Option<PathBuf>, Fault> {
    let query = address.query().unwrap_or_default();
    if let Some(name) = parameter(query, "username") {
        user::check_name(&name)?;
    }
    parameter(query, "path")
        .filter(|path| !path.is_empty())
        .map(|path| resolved(&daemon.home, &path))
        .transpose()
}

/// How `/files` tells of a failure: other than calls do, with a number.
fn told(status: StatusCode, message: &str) -> Response<Body> {
    #[derive(Serialize)]
    struct Told<'a> {
        code: u16,
        message: &'a str,
    }
    let told = Told {
        code: status.as_u16(),
        message,
    };
    let mut response = Response::new(full(serde_json::to_vec(&told).unwrap_or_default()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    response
}

/// A call of `filesystem.Filesystem`.
pub(super) async fn answer(daemon: &Daemon, method: &str, request: Request<Body>) -> Response<Body> {
    match method {
        "Stat" => at_path(daemon, request, |path| tree::look(path).map(as_answer)).await,
        "MakeDir" => at_path(daemon, request, |path| tree::make(path).map(as_answer)).await,
        "Remove" => {
            at_path(daemon, request, |path| {
                tree::remove(path)?;
                Ok(Nothing {})
            })
            .await
        }
        "Move" => calls::unary(request, |asked| move_to(daemon, asked)).await,
        "ListDir" => calls::unary(request, |asked| list(daemon, asked)).await,
        "WatchDir" => watch(daemon, request).await.unwrap_or_else(streams::refused),
        "CreateWatcher" => calls::unary(request, |asked| create_watcher(daemon, asked)).await,
        "GetWatcherEvents" => {
            calls::unary(request, |asked: Watcher| async move {
                let events = daemon.files.watches.polled.changes(&asked.watcher_id)?;
                Ok(Changes { events })
            })
            .await
        }
        "RemoveWatcher" => {
            calls::unary(request, |asked: Watcher| async move {
                daemon.files.watches.polled.remove(&asked.watcher_id)?;
                Ok(Nothing {})
            })
            .await
        }
        _ => calls::refused(&unknown(request.uri().path())),
    }
}

fn as_answer(entry: crate::filesystem::Entry) -> EntryResponse {
    EntryResponse { entry }
}

/// A call about one path, which must be named: who says nothing does not mean the whole home directory.
async fn at_path<A: Serialize + Send + 'static>(
    daemon: &Daemon,
    request: Request<Body>,
    act: fn(&Path) -> Result<A, Fault>,
) -> Response<Body> {
    calls::unary(request, |asked: PathRequest| async move {
        let path = named(daemon, &asked.path)?;
        daemon.files.work.run(move || act(&path)).await
    })
    .await
}

fn named(daemon: &Daemon, path: &str) -> Result<PathBuf, Fault> {
    if path.is_empty() {
        return Err(Fault::new(Code::InvalidArgument, "the call must name a path"));
    }
    resolved(&daemon.home, path)
}

async fn move_to(daemon: &Daemon, asked: MoveRequest) -> Result<EntryResponse, Fault> {
    let source = named(daemon, &asked.source)?;
    let destination = named(daemon, &asked.destination)?;
    let moved = daemon
        .files
        .work
        .run(move || moves::move_to(&source, &destination));
    moved.await.map(as_answer)
}

async fn list(daemon: &Daemon, asked: ListRequest) -> Result<ListResponse, Fault> {
    let path = resolved(&daemon.home, &asked.path)?;
    let listed = daemon.files.work.run(move || tree::list(&path, asked.depth));
    Ok(ListResponse {
        entries: listed.await?,
    })
}

async fn watch(daemon: &Daemon, request: Request<Body>) -> Result<Response<Body>, Fault> {
    let (asked, pace) = streams::asked::<WatchRequest>(request).await?;
    let (watch, place) = begin_watch(daemon, &asked).await?;
    let (feed, response) = streams::open(pace, &WatchEvent::Keepalive {});
    tokio::spawn(watch.tell(feed, place));
    Ok(response)
}

async fn create_watcher(daemon: &Daemon, asked: WatchRequest) -> Result<Watcher, Fault> {
    let (watch, place) = begin_watch(daemon, &asked).await?;
    Ok(Watcher {
        watcher_id: daemon.files.watches.polled.add(watch, place),
    })
}

async fn begin_watch(daemon: &Daemon, asked: &WatchRequest) -> Result<(watch::Watch, watch::Place), Fault> {
    let path = resolved(&daemon.home, &asked.path)?;
    daemon.files.watches.begin(&daemon.files.work, path, asked).await
}
