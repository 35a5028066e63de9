//! What a client is told when it is turned away: one JSON body for every error over HTTP.

use std::fmt;
use std::time::Duration;

use agentyard_model::RequestId;
use agentyard_services::{Error, ErrorKind};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::failure::{in_one_text, wording};

/// The one place where a kind of failure becomes an HTTP status.
#[must_use]
const fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::LimitExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// An error as it is answered over HTTP.
///
/// As a response it already carries its status, headers and body; the request id is put into
/// the body by the layer that [names requests](super::name_request), which alone knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    kind: ErrorKind,
    status: StatusCode,
    message: String,
    hints: Vec<String>,
    retry_after: Option<Duration>,
    challenge: Option<HeaderValue>,
}

impl Refusal {
    /// A refusal of this kind. The message is for the client: it says what is wrong and,
    /// where there is something to do, what to do next.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: status(kind),
            message: message.into(),
            hints: Vec::new(),
            retry_after: None,
            challenge: None,
        }
    }

    /// With one more hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// With another status than the kind has by itself: a body that is too large exceeds a
    /// limit, yet HTTP has a number of its own for it.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// With the time after which it is worth trying again.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// With what `WWW-Authenticate` asks for.
    #[must_use]
    pub fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    /// Why the request failed.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong and what to do about it, in one text: for faces whose errors have no place for hints.
    #[must_use]
    pub fn in_one_text(&self) -> String {
        in_one_text(&self.message, &self.hints)
    }

    /// The status with which it is answered.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Writes the request id into the body of an answer that is a refusal; leaves every
    /// other answer, and all headers that layers have added meanwhile, alone.
    pub(super) fn name_request(response: &mut Response, request_id: &RequestId) {
        if let Some(refusal) = response.extensions().get::<Self>() {
            let body = refusal.body(Some(request_id));
            *response.body_mut() = body;
            // The length that was worked out for the body before no longer holds.
            response.headers_mut().remove(CONTENT_LENGTH);
        }
    }

    fn body(&self, request_id: Option<&RequestId>) -> Body {
        let error = RefusalBody {
            kind: self.kind.as_str(),
            message: &self.message,
            hints: &self.hints,
            request_id: request_id.map(RequestId::as_str),
        };
        // Strings and a list of strings always serialise; the fallback keeps the shape.
        let text = serde_json::to_string(&Envelope { error })
            .unwrap_or_else(|_| r#"{"error":{"kind":"internal","message":"","hints":[]}}"#.to_owned());
        Body::from(text)
    }
}

/// A service's failure, in the same words on every face.
impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        let (message, hints) = wording(error);
        hints
            .into_iter()
            .fold(Self::new(error.kind(), message), Self::with_hint)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body(None));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        if let Some(challenge) = &self.challenge {
            headers.insert(WWW_AUTHENTICATE, challenge.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// At least one: `Retry-After: 0` would invite a client to hammer.
fn whole_seconds(wait: Duration) -> u64 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    seconds.max(1)
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: RefusalBody<'a>,
}

#[derive(Serialize)]
struct RefusalBody<'a> {
    kind: &'a str,
    message: &'a str,
    hints: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_body_has_one_shape_and_names_the_request() {
        let refusal = Refusal::new(ErrorKind::LimitExceeded, "too fast")
            .with_hint("slow down")
            .retry_after(Duration::from_millis(1200));
        let mut response = refusal.into_response();
        Refusal::name_request(&mut response, &RequestId::from_client("req-1").unwrap());
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(
            text(response).await,
            r#"{"error":{"kind":"limit_exceeded","message":"too fast","hints":["slow down"],"request_id":"req-1"}}"#
        );
    }

    #[tokio::test]
    async fn another_answer_is_left_alone() {
        let mut response = Response::new(Body::from("fine"));
        Refusal::name_request(&mut response, &RequestId::new());
        assert_eq!(text(response).await, "fine");
    }

    #[test]
    fn every_kind_has_the_status_of_the_style_guide() {
        let statuses: Vec<u16> = ErrorKind::ALL.iter().map(|kind| status(*kind).as_u16()).collect();
        assert_eq!(statuses, [400, 401, 403, 404, 409, 429, 503, 500]);
    }
}
