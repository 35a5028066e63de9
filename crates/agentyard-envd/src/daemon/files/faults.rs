//! What the kernel says about a file, in the protocol's words.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::paths::shown;
use crate::connect::{Code, Fault};

/// What was attempted, on what, and why it failed: `fault("read", path, &error)`.
pub(super) fn fault(attempted: &str, path: &Path, error: &io::Error) -> Fault {
    let (code, why) = explained(error);
    Fault::new(code, format!("could not {attempted} {}: {why}", shown(path)))
}

/// A refusal of ours: `refused("read", path, "it is a directory: list it instead")`.
pub(super) fn refused(attempted: &str, path: &Path, why: &str) -> Fault {
    Fault::new(
        Code::InvalidArgument,
        format!("could not {attempted} {}: {why}", shown(path)),
    )
}

fn explained(error: &io::Error) -> (Code, String) {
    let (code, why) = match error.kind() {
        ErrorKind::NotFound => (Code::NotFound, "there is no such file or directory"),
        ErrorKind::PermissionDenied => (
            Code::PermissionDenied,
            "the sandbox's user may not; use a path below /home/user, /workspace or /tmp",
        ),
        ErrorKind::ReadOnlyFilesystem => (
            Code::PermissionDenied,
            "it cannot be changed in this sandbox; use a path below /home/user, /workspace or /tmp",
        ),
        ErrorKind::AlreadyExists => (Code::AlreadyExists, "it exists already"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            Code::ResourceExhausted,
            "there is not enough space; remove what is not needed",
        ),
        ErrorKind::FileTooLarge => (
            Code::ResourceExhausted,
            "no file in this sandbox may be that long; write several",
        ),
        ErrorKind::NotADirectory => (
            Code::InvalidArgument,
            "a part of the path is a file and no directory",
        ),
        ErrorKind::IsADirectory => (Code::InvalidArgument, "it is a directory"),
        ErrorKind::InvalidFilename => (Code::InvalidArgument, "the name is too long, or no name"),
        ErrorKind::InvalidInput => (
            Code::InvalidArgument,
            "it cannot be done there, such as moving a directory into itself",
        ),
        ErrorKind::DirectoryNotEmpty => (
            Code::FailedPrecondition,
            "the directory there is not empty; remove it first",
        ),
        ErrorKind::ResourceBusy => (
            Code::FailedPrecondition,
            "it is in use, as the directories are that were put into this sandbox",
        ),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => (
            Code::FailedPrecondition,
            "links lead in a circle, or there are too many",
        ),
        _ if is_exhausted(error) => (
            Code::ResourceExhausted,
            "too many files are open in this sandbox; close some, or try again later",
        ),
        ErrorKind::Unsupported => return (Code::FailedPrecondition, error.to_string()),
        _ => return (Code::Internal, error.to_string()),
    };
    (code, why.to_owned())
}

fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error
        .raw_os_error()
        .map(Errno::from_raw_os_error)
        .is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn each_error_has_the_code_that_clients_look_at() {
        for (errno, code) in [
            (Errno::NOENT, Code::NotFound),
            (Errno::ACCESS, Code::PermissionDenied),
            (Errno::PERM, Code::PermissionDenied),
            (Errno::ROFS, Code::PermissionDenied),
            (Errno::EXIST, Code::AlreadyExists),
            (Errno::NOSPC, Code::ResourceExhausted),
            (Errno::DQUOT, Code::ResourceExhausted),
            (Errno::FBIG, Code::ResourceExhausted),
            (Errno::MFILE, Code::ResourceExhausted),
            (Errno::NOTDIR, Code::InvalidArgument),
            (Errno::NAMETOOLONG, Code::InvalidArgument),
            (Errno::INVAL, Code::InvalidArgument),
            (Errno::NOTEMPTY, Code::FailedPrecondition),
            (Errno::LOOP, Code::FailedPrecondition),
            (Errno::BUSY, Code::FailedPrecondition),
            (Errno::IO, Code::Internal),
        ] {
            let fault = fault("read", Path::new("/a"), &errno.into());
            assert_eq!(fault.code, code, "{errno}");
            assert!(
                fault.message.starts_with("could not read /a: "),
                "{}",
                fault.message
            );
        }
    }
}
