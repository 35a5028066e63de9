//! Which part of the daemon answers what.

use std::path::PathBuf;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, Response, StatusCode};

use super::environment::Environment;
use super::files::Files;
use super::interpreter::Contexts;
use super::processes::Processes;
use super::{
    ENVD_PORT, INTERPRETER_PORT, calls, environment, files, interpreter, ports, processes, streams, user,
};
use crate::connect::{Code, Fault, STREAM};
use crate::exchange::{Body, empty};
use crate::headers::PORT_HEADER;
use crate::{filesystem, process};

/// What all parts share. Copies are the same.
#[derive(Debug, Clone)]
pub(super) struct Daemon(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    /// Where programs start, and where relative paths begin.
    pub(super) home: PathBuf,
    /// What programs have in their environment beside what this process has.
    pub(super) environment: Environment,
    pub(super) files: Files,
    pub(super) processes: Processes,
    pub(super) contexts: Contexts,
}

impl std::ops::Deref for Daemon {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Daemon {
    pub(super) fn new(home: PathBuf) -> Self {
        Self(Arc::new(Inner {
            home,
            environment: Environment::default(),
            files: Files::new(),
            processes: Processes::default(),
            contexts: Contexts::default(),
        }))
    }

    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        match port(&request) {
            Ok(ENVD_PORT) => self.answer_itself(request).await,
            Ok(INTERPRETER_PORT) => interpreter::answer(self, request).await,
            Ok(port) => ports::forward(port, request).await,
            Err(fault) => calls::refused(&fault),
        }
    }

    /// What is asked of the daemon, and not of somebody who listens in the sandbox.
    async fn answer_itself(&self, request: Request<Body>) -> Response<Body> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health") if self.home.is_dir() => return status(StatusCode::NO_CONTENT),
            (&Method::POST, "/init") => return environment::initialize(self, request).await,
            (&Method::GET, "/envs") => return environment::show(self),
            _ => {}
        }
        if let Err(fault) = user::check(request.headers()) {
            return refused(request.headers(), fault);
        }
        let path = request.uri().path();
        if path == "/files" {
            return files::transfer(self, request).await;
        }
        let called = path
            .strip_prefix('/')
            .filter(|_| request.method() == Method::POST);
        let method = match called.and_then(|called| called.split_once('/')) {
            Some((process::SERVICE, method)) => method.to_owned(),
            Some((filesystem::SERVICE, method)) => {
                let method = method.to_owned();
                return files::answer(self, &method, request).await;
            }
            _ => return refused(request.headers(), unknown(path)),
        };
        processes::answer(self, &method, request).await
    }
}

/// Refuses a call in its own way: of a stream, clients read only what its last frame says.
fn refused(headers: &HeaderMap, fault: Fault) -> Response<Body> {
    let is_stream = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == STREAM);
    if is_stream {
        streams::refused(fault)
    } else {
        calls::refused(&fault)
    }
}

/// A call that there is not.
pub(super) fn unknown(path: &str) -> Fault {
    Fault::new(
        Code::Unimplemented,
        format!("there is no call `{path}` in this sandbox"),
    )
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

/// Which port of the sandbox is meant.
fn port(request: &Request<Body>) -> Result<u16, Fault> {
    let Some(header) = request.headers().get(PORT_HEADER) else {
        return Ok(ENVD_PORT);
    };
    let port = header.to_str().ok().and_then(|text| text.parse().ok());
    port.filter(|port| *port != 0).ok_or_else(|| {
        Fault::new(
            Code::InvalidArgument,
            "the header E2b-Sandbox-Port must name a port, 1 to 65535",
        )
    })
}
