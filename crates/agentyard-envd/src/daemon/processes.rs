//! `process.Process`.

use http::{Request, Response};

use super::calls;
use super::routes::{Daemon, unknown};
use crate::exchange::Body;

/// The processes that were started.
#[derive(Debug, Default)]
pub(super) struct Processes {}

/// A call of `process.Process`.
pub(super) async fn answer(_: &Daemon, _method: &str, request: Request<Body>) -> Response<Body> {
    calls::refused(&unknown(request.uri().path()))
}
