//! What is answered to a request that goes nowhere. Its reader is a model that reads what a package manager made of it.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use hyper::ext::ReasonPhrase;

use super::destination::Destination;

/// How much of a destination is repeated that is not one.
const MAX_ECHO: usize = 100;

/// Something that was refused, or could not be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What was asked for: `pypi.example:443`.
    pub destination: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.destination, self.reason)
    }
}

/// Why a request goes nowhere.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) denied: Denied,
}

impl Refusal {
    /// It could be done, but may not be.
    pub(super) fn forbidden(destination: &Destination, reason: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, destination.to_string(), reason)
    }

    /// It may be done, but cannot be.
    pub(super) fn unreachable(destination: &Destination, reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, destination.to_string(), reason)
    }

    /// It is no request for a proxy, or for nothing that is a place.
    pub(super) fn senseless(asked: &str, reason: impl Into<String>) -> Self {
        let shown = asked
            .chars()
            .filter(char::is_ascii_graphic)
            .take(MAX_ECHO)
            .collect();
        Self::new(StatusCode::FORBIDDEN, shown, reason)
    }

    fn new(status: StatusCode, destination: String, reason: impl Into<String>) -> Self {
        Self {
            status,
            denied: Denied {
                destination,
                reason: reason.into(),
            },
        }
    }

    /// The answer. Most package managers show of it the words beside the status, so these say everything.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let verb = match self.status {
            StatusCode::FORBIDDEN => "refused",
            _ => "not reached",
        };
        let text = format!("{} was {verb}: {}", self.denied.destination, self.denied.reason);
        let mut response = Response::new(Full::from(format!("{text}\n")));
        *response.status_mut() = self.status;
        if let Ok(phrase) = ReasonPhrase::try_from(text.into_bytes()) {
            response.extensions_mut().insert(phrase);
        }
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            header::HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        response
    }
}
