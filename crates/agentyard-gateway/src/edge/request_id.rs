//! Names every request: in its answer's header, in the body of an error, and for everybody
//! who handles it on the way.

use agentyard_model::RequestId;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::refusal::Refusal;

/// The header in which a request's id comes and goes.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The outermost layer: takes over the client's id when it can stand in a log line, makes one
/// otherwise, leaves it in the request's extensions and writes it into the answer.
pub async fn name_request(mut request: Request, next: Next) -> Response {
    let id = from_headers(request.headers()).unwrap_or_else(RequestId::new);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    Refusal::name_request(&mut response, &id);
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(REQUEST_ID_HEADER, value);
    }
    response
}

fn from_headers(headers: &HeaderMap) -> Option<RequestId> {
    let mut values = headers.get_all(REQUEST_ID_HEADER).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => RequestId::from_client(value.to_str().ok()?),
        // Of two ids neither is the one that the client will look for.
        (Some(_), Some(_)) | (None, _) => None,
    }
}
