//! What can go wrong, told apart as far as somebody above can act on it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use agentyard_model::{InvalidCursor, JobId, MAX_DELEGATION_DEPTH, RoleName, SecretName, TokenId};

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory or the file of the database cannot be made or kept private.
    #[error("cannot prepare `{}`", path.display())]
    DataDirectory {
        /// What could not be prepared.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The URL is not one of a PostgreSQL database. It is not shown: it may hold a password.
    #[error(
        "the database URL is not understood ({reason}): write `postgres://user:password@host:port/database`, \
         or leave it out to use SQLite"
    )]
    InvalidUrl {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The key of the secrets is none. It is not shown.
    #[error(
        "the key of the secrets ({place}) is not understood: it must be 64 hexadecimal digits, \
         for example from `openssl rand -hex 32`"
    )]
    InvalidSecretKey {
        /// Where it stands.
        place: String,
    },
    /// A secret cannot be opened: it was sealed with another key, or somebody has changed it.
    #[error(
        "secret `{0}` cannot be opened: it was sealed with another key (`store.secret_key`, or `secret.key` in the \
         data directory); bring that key back, or set the secret again"
    )]
    SealedOtherwise(SecretName),
    /// A newer release has changed the tables.
    #[error(
        "the database belongs to a newer release of Agentyard (its schema is {found}, this release knows {known}): \
         start that release, or restore the backup made before it"
    )]
    TooNew {
        /// The newest change found in the database.
        found: i64,
        /// The newest change that this release knows.
        known: i64,
    },
    /// A change of the tables that was made long ago is not the one this release knows.
    #[error("schema change {version} in the database is not the one of this release: restore a backup")]
    ForeignSchema {
        /// Which change.
        version: i64,
    },
    /// The database cannot be reached, is overloaded or full. The same call may succeed later.
    #[error("cannot {attempt} now, the database is unavailable")]
    Unavailable {
        /// What was attempted.
        attempt: &'static str,
        /// What the database said.
        #[source]
        source: DatabaseError,
    },
    /// The database refused. The same call will fail again.
    #[error("cannot {attempt}")]
    Query {
        /// What was attempted.
        attempt: &'static str,
        /// What the database said.
        #[source]
        source: DatabaseError,
    },
    /// A value was read that nobody can have written with this release.
    #[error("column `{column}` holds a value that this release cannot read")]
    Unreadable {
        /// Where it is.
        column: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The text has a form that the databases do not keep.
    #[error("cannot {attempt}: {reason}")]
    Unstorable {
        /// What was attempted.
        attempt: &'static str,
        /// What is wrong with the text.
        reason: &'static str,
    },
    /// It is not there, or not in this tenant.
    #[error("there is no {kind} `{name}`")]
    NotFound {
        /// What kind of thing.
        kind: &'static str,
        /// Its id or name.
        name: String,
    },
    /// The name is taken.
    #[error("there is already a {kind} `{name}`")]
    Exists {
        /// What kind of thing.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Built-in roles are code, not rows.
    #[error("role `{0}` is built in and cannot be changed: choose another name")]
    BuiltInRole(RoleName),
    /// Somebody still has the role.
    #[error("role `{0}` is in use: give its users and tokens another role first")]
    RoleInUse(RoleName),
    /// The token that was to pass on its rights has none any more.
    #[error("token `{0}` was revoked or has expired: nothing can be made with it")]
    ParentEnded(TokenId),
    /// Rights have been passed on often enough.
    #[error("rights are passed on at most {MAX_DELEGATION_DEPTH} times: use a token nearer to its owner")]
    DelegationTooDeep,
    /// Another worker has the job by now, or it is finished.
    #[error("the lease of job `{0}` was lost: stop working on it")]
    LeaseLost(JobId),
    /// The cursor is not one of this list.
    #[error(transparent)]
    InvalidCursor(#[from] InvalidCursor),
    /// The operating system gave no random numbers.
    #[error("cannot make a secret: the system gives no random numbers")]
    NoRandomness(#[source] io::Error),
}

impl Error {
    /// The database was asked for this and answered that.
    pub(crate) fn from_database(attempt: &'static str, error: sqlx::Error) -> Self {
        let source = DatabaseError(Cause::Driver(error));
        if source.is_passing() {
            Self::Unavailable { attempt, source }
        } else {
            Self::Query { attempt, source }
        }
    }

    /// The database was asked for this and did not answer in time.
    pub(crate) fn timed_out(attempt: &'static str) -> Self {
        Self::Unavailable {
            attempt,
            source: DatabaseError(Cause::Silence),
        }
    }

    /// This thing is not there.
    pub(crate) fn not_found(kind: &'static str, name: impl fmt::Display) -> Self {
        Self::NotFound {
            kind,
            name: name.to_string(),
        }
    }

    /// Whether the server hung up. Not whether it was silent: who has waited for that once
    /// should not wait again.
    pub(crate) fn is_cut_off(&self) -> bool {
        matches!(self, Self::Unavailable { source, .. } if source.is_cut_off())
    }

    /// Whether SQLite has another writer at this moment.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Unavailable { source, .. } if source.is_busy())
    }

    /// The same error, or, when it says that a key is taken, that this thing exists.
    pub(crate) fn or_exists(self, kind: &'static str, name: impl fmt::Display) -> Self {
        match self {
            Self::Query { source, .. } if source.is_taken_key() => Self::Exists {
                kind,
                name: name.to_string(),
            },
            other => other,
        }
    }
}

/// What the database said, for the log. It holds neither URLs nor bound values.
#[derive(Debug)]
pub struct DatabaseError(Cause);

#[derive(Debug)]
enum Cause {
    Driver(sqlx::Error),
    Silence,
}

impl DatabaseError {
    /// Whether trying again later may help.
    fn is_passing(&self) -> bool {
        match &self.0 {
            Cause::Silence => true,
            Cause::Driver(sqlx::Error::Database(error)) => match sqlite_code(&**error) {
                // Busy, locked, out of memory, input or output failed, full, cannot open.
                Some(code) => matches!(code, 5 | 6 | 7 | 10 | 13 | 14),
                None => is_passing_in_postgres(error.code().as_deref().unwrap_or_default()),
            },
            Cause::Driver(error) => matches!(
                error,
                sqlx::Error::Io(_)
                    | sqlx::Error::Tls(_)
                    | sqlx::Error::Protocol(_)
                    | sqlx::Error::PoolTimedOut
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::WorkerCrashed
                    | sqlx::Error::BeginFailed
            ),
        }
    }

    fn is_cut_off(&self) -> bool {
        match &self.0 {
            Cause::Driver(sqlx::Error::Io(_)) => true,
            Cause::Driver(sqlx::Error::Database(error)) => {
                let code = error.code().unwrap_or_default();
                sqlite_code(&**error).is_none() && (code.starts_with("08") || code.starts_with("57P"))
            }
            Cause::Driver(_) | Cause::Silence => false,
        }
    }

    fn is_busy(&self) -> bool {
        match &self.0 {
            Cause::Driver(sqlx::Error::Database(error)) => {
                matches!(sqlite_code(&**error), Some(5 | 6))
            }
            Cause::Driver(_) | Cause::Silence => false,
        }
    }

    fn is_taken_key(&self) -> bool {
        match &self.0 {
            Cause::Driver(error) => error
                .as_database_error()
                .is_some_and(sqlx::error::DatabaseError::is_unique_violation),
            Cause::Silence => false,
        }
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Driver(error) => fmt::Display::fmt(error, f),
            Cause::Silence => f.write_str("the database did not answer in time"),
        }
    }
}

/// The driver's messages contain those of their causes, so there is no further source.
impl std::error::Error for DatabaseError {}

/// SQLite's result code, when it is SQLite that speaks. The codes are extended ones; what
/// they extend is in the low byte.
fn sqlite_code(error: &dyn sqlx::error::DatabaseError) -> Option<i32> {
    error.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    let code: i32 = error.code()?.parse().ok()?;
    Some(code & 0xff)
}

/// Connection lost, resources exhausted, shutting down or starting, deadlock or
/// serialisation failure, and the time limits that we set ourselves.
fn is_passing_in_postgres(code: &str) -> bool {
    ["08", "53", "57P"].iter().any(|class| code.starts_with(class))
        || matches!(code, "40001" | "40P01" | "55P03" | "57014" | "25P03")
}
