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

    /// A repository of somebody whom the kernel does not name in this user namespace.
    #[error(
        "the repository at {path} is refused: it belongs to another user, and in the user namespace that this server \
         runs in it cannot be told to whom; change its owner, or set `workspaces.namespace` to `off` if it is root's"
    )]
    UnknownOwner { path: String },

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

    /// There is no git program, or it does not start.
    #[error("git could not be started ({program}); install git 2.40 or newer")]
    StartGit {
        program: String,
        #[source]
        source: io::Error,
    },

    /// A git process could not be talked to.
    #[error("git {verb} was started and then lost")]
    RunGit {
        verb: &'static str,
        #[source]
        source: io::Error,
    },

    /// git said no, in its own words.
    #[error("git {verb} failed in {path}: {said}")]
    GitFailed {
        verb: &'static str,
        path: String,
        code: Option<i32>,
        said: String,
    },

    /// Somebody else holds a lock of the repository, or died while holding it.
    #[error("git {verb} failed: the repository is locked by {lock}")]
    Locked { verb: &'static str, lock: String },

    /// The configuration of a repository that is not trusted names what git would run or follow.
    #[error(
        "the repository at {path} sets `{key}`, which makes git run or follow something; a person who vouches for \
         the repository runs `agentyard trust {path}`, or removes the setting"
    )]
    UntrustedSetting { path: String, key: String },

    /// An argument that can never be used.
    #[error("{what} cannot be used: {reason}")]
    Invalid { what: String, reason: String },

    /// Something that is not there.
    #[error("{what}")]
    Missing { what: String },

    /// The state of the repository does not allow it now.
    #[error("{what}")]
    State { what: String, remedy: String },

    /// It is not allowed, whatever the state.
    #[error("{what}")]
    Refused { what: String, remedy: String },

    /// Another machine could not be reached, or did not answer; worth another try later.
    #[error("{what}")]
    Unreachable { what: String, remedy: String },

    /// The caller went away, or its deadline passed.
    #[error("the call was cancelled")]
    Cancelled,
}

impl Error {
    /// The state of the repository does not allow it now; `remedy` says what to do.
    pub fn state(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::State {
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// It is not allowed; `remedy` says what would be.
    pub(crate) fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// An argument that can never be used. `what` is shown as given, so it comes cleaned.
    pub(crate) fn invalid(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            what: what.into(),
            reason: reason.into(),
        }
    }

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
