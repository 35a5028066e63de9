//! Which part of the daemon answers what.

use std::path::PathBuf;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::connect::{Code, Fault, UNARY};
use crate::exchange::{Body, empty, full};

/// What all parts share. Copies are the same.
#[derive(Debug, Clone)]
pub(super) struct Daemon(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Where programs start, and where relative paths begin.
    home: PathBuf,
}

impl Daemon {
    pub(super) fn new(home: PathBuf) -> Self {
        Self(Arc::new(Inner { home }))
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health") if self.0.home.is_dir() => status(StatusCode::NO_CONTENT),
            (_, path) => refused(&Fault::new(
                Code::Unimplemented,
                format!("there is no call `{path}` in this sandbox"),
            )),
        }
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

/// A unary call that failed.
fn refused(fault: &Fault) -> Response<Body> {
    let mut response = Response::new(full(serde_json::to_vec(fault).unwrap_or_default()));
    *response.status_mut() = fault.code.status();
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(UNARY));
    response
}
