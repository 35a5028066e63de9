//! The one error of the services: a closed kind, a message for the client, hints on
//! what to do next, and the cause, which only the log sees.

use std::error::Error as StdError;
use std::fmt;

use agentyard_model::{Denied, InvalidCursor};

/// What a service answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What sort of failure it is. Each face has one function from this to its own language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It can never succeed as written.
    InvalidInput,
    /// Nobody knows who calls.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// It is absent, or not visible to this caller.
    NotFound,
    /// The state has moved; the hint says what to read again.
    Conflict,
    /// A quota, size or rate was passed; the hint says which.
    LimitExceeded,
    /// Try again later.
    Unavailable,
    /// Our fault; the log has the chain and the request id.
    Internal,
}

impl ErrorKind {
    /// Every kind there is.
    pub const ALL: &'static [Self] = &[
        Self::InvalidInput,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Conflict,
        Self::LimitExceeded,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The kind as it stands on the wire and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::LimitExceeded => "limit_exceeded",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

/// Why a service could not do what it was asked.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A failure of this kind. The message says what was attempted, on what, and why
    /// it failed; it is read by the client.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
            source: None,
        }
    }

    /// Something that can never succeed as written.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Something absent, or not visible to this caller.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Our fault. The client learns what was attempted; why it failed is for the log.
    #[must_use]
    pub fn internal(attempted: impl Into<String>, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Internal, attempted).because(source)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the cause, for the log.
    #[must_use]
    pub fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the client reads.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the client could do next.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The message and every cause below it, for the log.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A denial has one meaning wherever it happens, so this conversion chooses no kind
/// that its place could know better.
impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        let (kind, hint) = match denied {
            Denied::Anonymous => (
                ErrorKind::Unauthenticated,
                "send `Authorization: Bearer <token>`; an administrator makes one with `agentyard token create`",
            ),
            Denied::Lacks(_) => (
                ErrorKind::Forbidden,
                "ask whoever made this token for one that holds the permission; `whoami` lists what this one holds",
            ),
        };
        Self::new(kind, denied.to_string()).hint(hint)
    }
}

/// A cursor that is not ours is always the client's mistake.
impl From<InvalidCursor> for Error {
    fn from(invalid: InvalidCursor) -> Self {
        Self::invalid(invalid.to_string())
    }
}

/// What the store's failure means to a client. The kinds that depend on what was
/// attempted are chosen where that is known, before this.
pub(crate) fn from_store(attempted: &str, error: agentyard_store::Error) -> Error {
    use agentyard_store::Error as StoreError;
    match error {
        StoreError::Unavailable { .. } => Error::new(
            ErrorKind::Unavailable,
            format!("{attempted} failed: the database is unavailable"),
        )
        .hint("try again shortly; `agentyard doctor` and the log say what is wrong")
        .because(error),
        // What only who runs the server can mend, so it is told in full.
        StoreError::DataDirectory { .. }
        | StoreError::InvalidUrl { .. }
        | StoreError::InvalidSecretKey { .. }
        | StoreError::TooNew { .. } => {
            let cause = error
                .source()
                .map(|cause| format!(": {cause}"))
                .unwrap_or_default();
            Error::new(
                ErrorKind::Unavailable,
                format!("{attempted} failed: {error}{cause}"),
            )
            .hint("`agentyard doctor` looks at the database and the data directory")
        }
        StoreError::NotFound { .. } => Error::not_found(error.to_string()),
        StoreError::Exists { .. }
        | StoreError::RoleInUse(_)
        | StoreError::ParentEnded(_)
        | StoreError::SealedOtherwise(_)
        | StoreError::LeaseLost(_) => Error::new(ErrorKind::Conflict, error.to_string()),
        StoreError::BuiltInRole(_) | StoreError::Unstorable { .. } | StoreError::InvalidCursor(_) => {
            Error::invalid(error.to_string())
        }
        StoreError::DelegationTooDeep => Error::new(ErrorKind::Forbidden, error.to_string()),
        StoreError::ForeignSchema { .. }
        | StoreError::Query { .. }
        | StoreError::Unreadable { .. }
        | StoreError::NoRandomness(_) => Error::internal(attempted, error),
    }
}
