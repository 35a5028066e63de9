//! What runs code: what is asked for at its port.

use http::{Request, Response};

use super::calls;
use super::routes::{Daemon, unknown};
use crate::exchange::Body;

/// Whatever is asked for at the interpreter's port.
pub(super) async fn answer(_: &Daemon, request: Request<Body>) -> Response<Body> {
    calls::refused(&unknown(request.uri().path()))
}
