//! What goes wrong, in E2B's words: `{code, message}`, always. Its clients read errors into a type and fail on any
//! other shape.

use agentyard_services::{Error, ErrorKind};
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::edge::Refusal;
use crate::failure::{in_one_text, wording};

/// Tells clients that another try would end the same way.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("should-retry");

/// A failure as E2B's clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    code: u16,
    message: String,
    /// Which sandbox could not be reached.
    #[serde(rename = "sandboxId", skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(skip)]
    retry: Option<bool>,
}

impl Fault {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            code: status.as_u16(),
            message: message.into(),
            sandbox: None,
            retry: None,
        }
    }

    /// What can never succeed as written.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// What E2B has and this server has not.
    pub(super) fn unsupported(what: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            format!("{what} is not supported by this server"),
        )
    }

    /// Why a sandbox could not be reached, which clients take for its end when the message says that it was not found.
    pub(super) fn unreachable(sandbox: &str, message: impl Into<String>) -> Self {
        Self {
            sandbox: Some(sandbox.to_owned()),
            ..Self::new(StatusCode::BAD_GATEWAY, message)
        }
    }

    /// The same, told with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self {
            code: status.as_u16(),
            ..self
        }
    }

    pub(super) fn code(&self) -> u16 {
        self.code
    }
}

/// A failure of the services. A limit that waiting does not lift (how many sandboxes one may have) is not to be tried
/// again by itself, though its status would make clients do so.
impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        let (message, hints) = wording(error);
        let status = Refusal::new(error.kind(), String::new()).status();
        Self {
            retry: (error.kind() == ErrorKind::LimitExceeded).then_some(false),
            ..Self::new(status, in_one_text(&message, &hints))
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<&Refusal> for Fault {
    fn from(refusal: &Refusal) -> Self {
        Self::new(refusal.status(), refusal.in_one_text())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry = self.retry;
        let mut response = (status, Json(self)).into_response();
        if let Some(retry) = retry {
            let value = HeaderValue::from_static(if retry { "true" } else { "false" });
            response.headers_mut().insert(SHOULD_RETRY, value);
        }
        response
    }
}

/// The id of a sandbox, which older clients write with that of its machine behind it.
pub(super) fn whole_id(text: &str) -> &str {
    text.split('-').next().unwrap_or(text)
}

/// Says in E2B's words what the edge refused in ours. Status and headers stay.
pub(super) async fn reword(request: Request, next: Next) -> Response {
    reworded(next.run(request).await)
}

fn reworded(mut response: Response) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else {
        return response;
    };
    let text = serde_json::to_string(&Fault::from(&refusal)).unwrap_or_default();
    *response.body_mut() = Body::from(text);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::*;

    async fn told(response: Response) -> (u16, Option<String>, Value) {
        let status = response.status().as_u16();
        let retry = response
            .headers()
            .get(SHOULD_RETRY)
            .map(|value| value.to_str().unwrap().to_owned());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, retry, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn what_to_do_next_is_part_of_the_message() {
        let error = Error::not_found("there is no sandbox `x`").hint("list them");
        let expected = json!({"code": 404, "message": "there is no sandbox `x`. list them"});
        assert_eq!(
            told(Fault::from(error).into_response()).await,
            (404, None, expected)
        );
    }

    #[tokio::test]
    async fn a_quota_is_not_to_be_tried_again() {
        let error = Error::new(ErrorKind::LimitExceeded, "there are too many");
        let (status, retry, _) = told(Fault::from(error).into_response()).await;
        assert_eq!((status, retry.as_deref()), (429, Some("false")));
    }

    #[tokio::test]
    async fn refusals_of_the_edge_are_reworded_and_other_answers_are_not() {
        let refusal = Refusal::new(ErrorKind::Unauthenticated, "no token").with_hint("Send one.");
        let expected = json!({"code": 401, "message": "no token. Send one"});
        assert_eq!(
            told(reworded(refusal.into_response())).await,
            (401, None, expected)
        );
        let other = Json(json!({"fine": true})).into_response();
        assert_eq!(told(reworded(other)).await, (200, None, json!({"fine": true})));
    }
}
