//! The daemon: what answers inside a sandbox.
//!
//! It has no rights that the programs it starts have not, and trusts nobody there: it holds no secret, and what it says
//! is believed by nobody outside. Whoever reaches it may use it: it listens on nothing, and the one connection that it
//! has was handed to it.

mod calls;
mod environment;
mod files;
mod interpreter;
mod ports;
mod processes;
mod routes;
mod signals;
mod streams;
mod user;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;

use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustix::fs::{FileType, fstat};
use rustix::process::DumpableBehavior;
use tokio::net::UnixStream;

use crate::exchange::{CONNECTION_WINDOW, MAX_STREAMS, READ_HEAD_BYTES, STREAM_WINDOW};

/// The version of E2B's daemon whose protocol this is.
pub const ENVD_VERSION: &str = "0.6.4";

/// The port at which clients expect the daemon.
pub const ENVD_PORT: u16 = 49983;

/// The port at which clients expect what runs code.
pub const INTERPRETER_PORT: u16 = 49999;

/// How much of an answer waits inside to be sent.
const SEND_BUFFER: usize = 64 * 1024;

/// What the daemon is told before anybody else talks to it: `POST /init`.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialization {
    /// What every program has in its environment beside what the daemon itself has.
    pub env_vars: BTreeMap<String, String>,
}

/// Where somebody listens for the daemon in a sandbox that cannot hand it a socket.
pub const MEETING_PLACE: &str = "/run/agentyard.sock";

/// Answers at the socket that is this process's standard input, until its other end is closed; where that is none, at the
/// one who listens at the [`MEETING_PLACE`]. Programs start in this directory, and have the environment of this process.
///
/// # Errors
/// When there is nobody to answer to, or the connection breaks.
pub fn serve(home: PathBuf) -> io::Result<()> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let socket = match FileType::from_raw_mode(fstat(&input)?.st_mode) {
        FileType::Socket => input,
        _ => StdUnixStream::connect(MEETING_PLACE)?.into(),
    };
    // What is started here runs as the same user, and is not to look into this process or to steer it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve_at(socket, home))
}

async fn serve_at(socket: OwnedFd, home: PathBuf) -> io::Result<()> {
    signals::ignore_alone();
    files::outlive_long_files()?;
    let socket = StdUnixStream::from(socket);
    socket.set_nonblocking(true)?;
    let connection = TokioIo::new(UnixStream::from_std(socket)?);
    let daemon = routes::Daemon::new(home);
    let service = service_fn(move |request: Request<Incoming>| {
        let daemon = daemon.clone();
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        async move { Ok::<_, std::convert::Infallible>(daemon.answer(request).await) }
    });
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(READ_HEAD_BYTES)
        .serve_connection(connection, service)
        .await
        .map_err(io::Error::other)
}
