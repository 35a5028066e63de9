//! What can go wrong, told so that the caller knows what to do next.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ObjectId;

/// A failure of this crate.
///
/// Messages are meant for the client: they name what the client asked for, never what lies outside the roots.
/// Sources are meant for the log: they come from the kernel and from gix and may quote the repository's
/// content.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path can never be used, whatever is on disk.
    #[error("{path} cannot be used as a path: {reason}")]
    InvalidPath { path: String, reason: &'static str },

    /// The path, or a link on the way to it, leaves the roots. Said in the same words whether or not its
    /// target exists.
    #[error("{path} is outside the directories that may be used here")]
    OutsideRoots { path: String },

    /// Nothing is there (inside a root).
    #[error("{path} does not exist")]
    NotFound { path: String },

    /// Something else is there (inside a root).
    #[error("{path} is not a directory")]
    NotADirectory { path: String },

    /// The kernel refused to open a directory inside a root.
    #[error("{path} could not be opened")]
    OpenDirectory {
        path: String,
        #[source]
        source: io::Error,
    },

    /// A configured root could not be opened.
    #[error("the root directory {path} could not be opened")]
    OpenRoot {
        path: String,
        #[source]
        source: io::Error,
    },

    /// No repository contains the directory, up to its root.
    #[error("{path} is not in a git repository; choose another directory, or initialise one here")]
    NotARepository { path: String },

    /// A part of the repository lies outside the roots.
    #[error(
        "the repository at {path} is refused: its {part} leads outside the directories that may be used here"
    )]
    RepositoryEscapes { path: String, part: String },

    /// A part of the repository is not what git would have put there.
    #[error("the repository at {path} is refused: its {part} {problem}")]
    RepositoryMalformed {
        path: String,
        part: String,
        problem: &'static str,
    },

    /// Somebody else's repository.
    #[error(
        "the repository at {path} is refused: it belongs to user {owner}, but this server runs as user {user}; \
         change its owner, or run the server as that user"
    )]
    ForeignOwner { path: String, owner: u32, user: u32 },

    /// A repository format that is not read in process.
    #[error("the repository at {path} uses {feature}, which is not supported")]
    UnsupportedRepository { path: String, feature: String },

    /// gix could not open what looked like a repository.
    #[error("the repository at {path} could not be opened")]
    OpenRepository {
        path: String,
        #[source]
        source: Box<gix::Error>,
    },

    /// A revision that can never name a commit.
    #[error("{revision:?} is not a revision: {reason}")]
    InvalidRevision { revision: String, reason: &'static str },

    /// A revision that names no commit of this repository.
    #[error("{revision:?} does not name a commit of this repository")]
    UnknownRevision {
        revision: String,
        #[source]
        source: Option<Box<gix::Error>>,
    },

    /// An object that should be a commit, by a cursor or by another commit, and is not.
    #[error("{id} is not a commit, or it is damaged")]
    NotACommit { id: ObjectId },

    /// A date in none of the accepted forms.
    #[error("{date:?} is not a date; use RFC 3339, YYYY-MM-DD, or a form such as `2 weeks ago`")]
    InvalidDate { date: String },

    /// A part of the repository could not be read.
    #[error("{part} could not be read")]
    Read {
        part: String,
        #[source]
        source: Box<gix::Error>,
    },

    /// A file or directory of the repository could not be read.
    #[error("{path} could not be read")]
    ReadFile {
        path: String,
        #[source]
        source: io::Error,
    },

    /// The caller went away, or its deadline passed.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Error {
    /// For `map_err`: gix failed to read `part` of a repository.
    pub(crate) fn read(part: impl Into<String>) -> impl FnOnce(gix::Error) -> Self {
        let part = part.into();
        move |source| Self::Read {
            part,
            source: Box::new(source),
        }
    }
}

/// Fails once the caller has gone away.
pub(crate) fn check_cancelled(cancel: &AtomicBool) -> Result<(), Error> {
    if cancel.load(Ordering::Relaxed) {
        return Err(Error::Cancelled);
    }
    Ok(())
}
