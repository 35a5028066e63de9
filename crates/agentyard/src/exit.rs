//! How the process ends: the one place where a failure becomes an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use agentyard_gateway::{RemoteError, error_object};
use agentyard_model::RequestId;
use agentyard_services::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::config::ConfigError;
use crate::platform::with_causes;
use crate::render;

/// A command that could not be done: an error object, as every face shows it.
#[derive(Debug)]
pub(crate) struct Failure {
    object: Value,
}

impl Failure {
    /// A failure of this kind, in these words.
    pub(crate) fn new(kind: ErrorKind, message: impl Display) -> Self {
        Self {
            object: json!({ "error": { "kind": kind.as_str(), "message": message.to_string() } }),
        }
    }

    /// With what to do next.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        let hints = &mut self.object["error"]["hints"];
        match hints {
            Value::Array(hints) => hints.push(hint.to_string().into()),
            none => *none = json!([hint.to_string()]),
        }
        self
    }

    /// The answer could not be written: nobody reads it any more.
    pub(crate) fn output(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Internal, format!("writing the answer failed: {error}"))
    }

    /// A service's failure.
    pub(crate) fn service(error: &Error, request_id: &RequestId) -> Self {
        Self {
            object: error_object(error, request_id),
        }
    }

    /// Tells the person, and says how to end.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        // When even that cannot be written, the exit code still tells.
        let _ = render::error(&self.object, json);
        ExitCode::from(code(self.object["error"]["kind"].as_str().unwrap_or_default()))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(ErrorKind::InvalidInput, with_causes(&error))
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self {
            object: error.object(),
        }
    }
}

/// By name, since a server's failure comes with the name alone.
fn code(kind: &str) -> u8 {
    let known = ErrorKind::ALL.iter().find(|known| known.as_str() == kind);
    match known {
        Some(ErrorKind::InvalidInput) => 2,
        Some(ErrorKind::Unauthenticated | ErrorKind::Forbidden) => 3,
        Some(ErrorKind::NotFound) => 4,
        Some(ErrorKind::Conflict) => 5,
        Some(ErrorKind::LimitExceeded) => 6,
        Some(ErrorKind::Unavailable) => 7,
        Some(ErrorKind::Internal) | None => 1,
    }
}
