//! Requests to what answers in a sandbox, and to what listens there. Both ways are streams; nothing is held back.

use agentyard_envd::{Body, Exchange as _, PORT_HEADER, TOKEN_HEADERS};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use http::{Request, Response};

use super::recording::Recorded;
use super::{Sandboxes, Visit};
use crate::error::{Error, ErrorKind, Result};

impl Sandboxes {
    /// Hands a request to a sandbox, and the answer back. What is started or changed there is written down first. A
    /// sandbox that is paused and wakes by itself is woken.
    ///
    /// # Errors
    /// When the sandbox is gone, or does not answer.
    pub async fn exchange(&self, visit: &Visit, request: Request<Body>) -> Result<Response<Body>> {
        let standing = self.answering(&visit.owner, &visit.row).await?;
        let kept = self.kept().get(&visit.row.id).cloned();
        let Recorded { mut request, event } = self.recorded(visit, kept.as_deref(), request).await?;
        if let Some(event) = event {
            self.0.parts.audit.record_soon(event).await;
        }
        hide_tokens(&mut request);
        request.headers_mut().insert(
            HeaderName::from_static(PORT_HEADER),
            HeaderValue::from(visit.port),
        );
        let exchanged = standing.exchange(request).await;
        exchanged.map_err(|error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("the sandbox {} did not answer: {}", visit.row.id, error.reason),
            )
            .hint("sandbox_get says whether it is still there")
        })
    }
}

/// Takes out what opens doors outside. As whom programs are to run is for whoever answers inside.
fn hide_tokens(request: &mut Request<Body>) {
    let headers = request.headers_mut();
    for name in TOKEN_HEADERS {
        headers.remove(name);
    }
    let is_basic = headers
        .get(AUTHORIZATION)
        .is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(b"basic "));
    if !is_basic {
        headers.remove(AUTHORIZATION);
    }
}

#[cfg(test)]
mod tests {
    use agentyard_envd::empty;

    use super::*;

    #[test]
    fn no_token_goes_inside() {
        let mut request = Request::get("/files")
            .header("X-Access-Token", "a")
            .header("E2B-Traffic-Access-Token", "b")
            .header("X-API-KEY", "c")
            .header("Authorization", "Bearer d")
            .header("Cookie", "mine")
            .body(empty())
            .unwrap();
        hide_tokens(&mut request);
        assert_eq!(
            request.headers().keys().collect::<Vec<_>>(),
            [http::header::COOKIE]
        );
        let mut request = Request::get("/")
            .header("Authorization", "Basic dXNlcjo=")
            .body(empty())
            .unwrap();
        hide_tokens(&mut request);
        assert!(request.headers().contains_key(AUTHORIZATION));
    }
}
