//! Entering the namespaces of another process.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, PidfdFlags, fchdir, pidfd_open};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// This process is inside now.
    Joined,
    /// It was there before, and only somebody from outside could get rights there.
    AlreadyInside,
}

/// Joins a member, unless this data directory is not the same to it. One that ends meanwhile cannot be joined, and
/// neither can a process that has its number since: either is another failure.
pub(super) fn join(member: Pid, locks: &Path) -> Result<Outcome, String> {
    let refused =
        |error: io::Error| format!("the namespace of process {member} could not be joined: {error}");
    let process = pidfd_open(member, PidfdFlags::empty()).map_err(|errno| refused(errno.into()))?;
    let files_of_member = PathBuf::from(format!("/proc/{member}"));
    let user_namespace = |process: &Path| fs::metadata(process.join("ns/user")).map(|link| link.ino());
    let theirs = user_namespace(&files_of_member).map_err(refused)?;
    if theirs == user_namespace(Path::new("/proc/self")).map_err(refused)? {
        return Ok(Outcome::AlreadyInside);
    }
    let locks_of_member = files_of_member
        .join("root")
        .join(locks.strip_prefix("/").unwrap_or(locks));
    if !is_same_file(locks, &locks_of_member) {
        return Err(format!(
            "process {member} has the namespace, and {} is not the same directory there",
            locks.display()
        ));
    }
    let here = CurrentDirectory::remember();
    let both = ThreadNameSpaceType::USER | ThreadNameSpaceType::MOUNT;
    move_into_thread_name_spaces(process.as_fd(), both).map_err(|errno| refused(errno.into()))?;
    here.come_back();
    Ok(Outcome::Joined)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Where this process stands. Entering a mount namespace moves it to the top.
struct CurrentDirectory {
    path: Option<PathBuf>,
    itself: Option<OwnedFd>,
}

impl CurrentDirectory {
    fn remember() -> Self {
        Self {
            path: std::env::current_dir().ok(),
            itself: open(
                ".",
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .ok(),
        }
    }

    /// By name, since a view may be mounted there; else to the directory itself, which may have no name any more.
    fn come_back(self) {
        let found = self
            .path
            .is_some_and(|path| std::env::set_current_dir(path).is_ok());
        if !found && let Some(directory) = self.itself {
            // At the top it is where it would be in any case.
            let _ = fchdir(directory);
        }
    }
}
