//! What failures of the git port mean to a client.

use agentyard_git as git;

use crate::error::{Error, ErrorKind};

/// What the git port's failure means to a client.
pub(crate) fn from_git(error: git::Error) -> Error {
    use git::Error as GitError;
    let message = error.to_string();
    match error {
        GitError::InvalidPath { .. } | GitError::InvalidRevision { .. } | GitError::InvalidDate { .. } => Error::invalid(message),
        GitError::OutsideRoots { .. } => Error::new(ErrorKind::Forbidden, message).hint(
            "the directories that may be used are set where Agentyard is started: `agentyard mcp --root DIR`, \
             or `git.roots` for a server",
        ),
        GitError::NotFound { .. } | GitError::NotADirectory { .. } | GitError::NotARepository { .. } => Error::not_found(message),
        GitError::UnknownRevision { .. } => Error::not_found(message).because(error),
        GitError::RepositoryEscapes { .. } | GitError::RepositoryMalformed { .. } | GitError::ForeignOwner { .. }
        | GitError::UnknownOwner { .. } => {
            Error::new(ErrorKind::Forbidden, message)
        }
        GitError::UnsupportedRepository { .. } => Error::invalid(message),
        GitError::NotACommit { .. } => Error::new(ErrorKind::Conflict, message),
        GitError::Invalid { .. } => Error::invalid(message),
        GitError::Missing { .. } => Error::not_found(message),
        GitError::State { remedy, .. } => Error::new(ErrorKind::Conflict, message).hint(remedy),
        GitError::Refused { remedy, .. } => Error::new(ErrorKind::Forbidden, message).hint(remedy),
        GitError::Unreachable { remedy, .. } => Error::new(ErrorKind::Unavailable, message).hint(remedy),
        GitError::UntrustedSetting { .. } => Error::new(ErrorKind::Forbidden, message),
        GitError::Locked { .. } => Error::new(ErrorKind::Conflict, message).hint(
            "if another git process is at work, try again when it is done; if it died, `git_clean` with \
             `stale_locks` removes locks that nobody holds any more",
        ),
        GitError::GitFailed { .. } => Error::new(ErrorKind::Conflict, message),
        GitError::StartGit { .. } => Error::new(ErrorKind::Unavailable, message).because(error),
        GitError::RunGit { .. } => Error::internal("running git", error),
        GitError::Cancelled => Error::new(ErrorKind::Unavailable, message),
        GitError::OpenDirectory { .. } | GitError::OpenRoot { .. } | GitError::OpenRepository { .. } | GitError::Read { .. } | GitError::ReadFile { .. } => {
            Error::new(ErrorKind::Conflict, message)
                .hint("the repository may be damaged or in the middle of a change: look at it with `git fsck`")
                .because(error)
        }
    }
}
