//! How a call fails.

use http::StatusCode;
use serde::{Deserialize, Serialize};

/// A call that failed, as it is told to whoever called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of failure it is.
    pub code: Code,
    /// What was attempted, and why it failed.
    #[serde(default)]
    pub message: String,
}

impl Fault {
    /// A failure of this kind.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:literal,)+) => {
        /// The kinds of failure, as Connect knows them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $variant,)+
        }

        impl Code {
            /// The HTTP status of a unary call that fails so.
            #[must_use]
            pub fn status(self) -> StatusCode {
                let status = match self {
                    $(Self::$variant => $status,)+
                };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    };
}

codes! {
    /// It was given up by whoever asked for it.
    Canceled = 499,
    /// Nobody knows.
    Unknown = 500,
    /// The arguments make no sense.
    InvalidArgument = 400,
    /// Its time was up.
    DeadlineExceeded = 504,
    /// What it is about is not there.
    NotFound = 404,
    /// What it would make is there.
    AlreadyExists = 409,
    /// It may not be done.
    PermissionDenied = 403,
    /// There is too little of something.
    ResourceExhausted = 429,
    /// Things are not as they must be for it.
    FailedPrecondition = 400,
    /// Something else came first.
    Aborted = 409,
    /// It is beyond the end.
    OutOfRange = 400,
    /// There is no such call.
    Unimplemented = 501,
    /// A fault of ours.
    Internal = 500,
    /// Later perhaps.
    Unavailable = 503,
    /// Something is lost.
    DataLoss = 500,
    /// Nobody knows who calls.
    Unauthenticated = 401,
}
