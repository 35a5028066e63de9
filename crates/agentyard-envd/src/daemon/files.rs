//! Files: `/files` and `filesystem.Filesystem`.

use http::{Request, Response};

use super::calls;
use super::routes::{Daemon, unknown};
use crate::exchange::Body;

/// `GET` and `POST /files`.
pub(super) async fn transfer(_: &Daemon, request: Request<Body>) -> Response<Body> {
    calls::refused(&unknown(request.uri().path()))
}

/// A call of `filesystem.Filesystem`.
pub(super) async fn answer(_: &Daemon, _method: &str, request: Request<Body>) -> Response<Body> {
    calls::refused(&unknown(request.uri().path()))
}
