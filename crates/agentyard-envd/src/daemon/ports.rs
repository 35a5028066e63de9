//! What listens in the sandbox.

use http::{Request, Response};

use super::calls;
use super::routes::unknown;
use crate::exchange::Body;

/// Hands a request to who listens at this port.
pub(super) async fn forward(_port: u16, request: Request<Body>) -> Response<Body> {
    calls::refused(&unknown(request.uri().path()))
}
