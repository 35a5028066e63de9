//! How large a request may be.

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use agentyard_services::ErrorKind;

use crate::edge::refusal::Refusal;

/// The middleware: refuses a body that says it is too large, and cuts off one that does not
/// say so.
pub async fn limit_body(State(limit): State<usize>, request: Request, next: Next) -> Response {
    if request.body().size_hint().lower() > limit as u64 {
        return too_large(limit).into_response();
    }
    next.run(request.map(|body| Body::new(Limited::new(body, limit))))
        .await
}

/// Reads a whole body, up to this many bytes.
///
/// # Errors
/// With 413 when it is larger, with 400 when it breaks off.
pub async fn read_body(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if is_over_limit(&*error) => Err(too_large(limit)),
        Err(_) => Err(Refusal::new(
            ErrorKind::InvalidInput,
            "the request's body broke off; send it again",
        )),
    }
}

/// The limit may have been ours or that of a layer around us.
fn is_over_limit(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(
        ErrorKind::LimitExceeded,
        format!("the request's body is larger than {limit} bytes; send less at once"),
    )
    .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    .with_hint("The limit is `http.max_body_bytes`.")
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    /// A body that does not say how long it is.
    fn unsized_body(bytes: usize) -> Body {
        let chunk = Ok::<_, std::io::Error>(Bytes::from(vec![0; bytes]));
        Body::from_stream(stream::iter([chunk]))
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        assert_eq!(read_body(unsized_body(8), 8).await.unwrap().len(), 8);
        for body in [unsized_body(9), Body::from(vec![0; 9])] {
            let refusal = read_body(body, 8).await.unwrap_err();
            assert_eq!(refusal.status(), 413);
            assert_eq!(refusal.kind(), ErrorKind::LimitExceeded);
        }
        // The tighter limit of a layer is told as what it is.
        let limited = Body::new(Limited::new(unsized_body(9), 8));
        assert_eq!(read_body(limited, 100).await.unwrap_err().status(), 413);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_too_large() {
        let broken = Body::from_stream(stream::iter([Err::<Bytes, _>(std::io::Error::other("gone"))]));
        assert_eq!(read_body(broken, 8).await.unwrap_err().status(), 400);
    }
}
