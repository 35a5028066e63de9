//! A directory and all that is in it is removed, by descriptor: no link on the way leads anywhere else.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::descriptor::{magic_path, open_child_directory};
use crate::error::check_cancelled;
use crate::roots::shown;
use crate::{Confined, Error};

/// How deep directories may lie in one another: each holds a descriptor open.
const MAX_DEPTH: usize = 400;

/// Removes the directory `name` of `parent`. One that is not there is no failure.
pub(crate) fn remove_tree(parent: &Confined, name: &OsStr, cancel: &AtomicBool) -> Result<(), Error> {
    let removal = Removal {
        top: shown(&parent.path().join(name)),
        cancel,
    };
    match open(parent.directory(), name.as_bytes()) {
        Ok(top) => removal.empty(top, 0)?,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(removal.failed(errno)),
    }
    rustix::fs::unlinkat(parent.directory(), name, AtFlags::REMOVEDIR).map_err(|errno| removal.failed(errno))
}

struct Removal<'a> {
    /// For messages.
    top: String,
    cancel: &'a AtomicBool,
}

impl Removal<'_> {
    fn empty(&self, directory: OwnedFd, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(self.failed(Errno::NAMETOOLONG));
        }
        let failed = |errno| self.failed(errno);
        for entry in Dir::read_from(&directory).map_err(failed)? {
            check_cancelled(self.cancel)?;
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
                    FileType::from_raw_mode(stat.map_err(failed)?.st_mode)
                }
                kind => kind,
            };
            let flags = if kind == FileType::Directory {
                let child = open(directory.as_fd(), name.to_bytes()).map_err(failed)?;
                self.empty(child, depth + 1)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            unlink(&directory, name, flags).map_err(failed)?;
        }
        Ok(())
    }

    fn failed(&self, errno: Errno) -> Error {
        Error::state(
            format!(
                "{} could not be removed whole: {}",
                self.top,
                std::io::Error::from(errno)
            ),
            "look at what is left of it",
        )
    }
}

/// Opens a directory that is to be emptied. overlayfs keeps one that not even its owner may open.
fn open(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    match open_child_directory(parent, name) {
        Err(Errno::ACCESS) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let closed = rustix::fs::openat(parent, name, flags, Mode::empty())?;
            rustix::fs::chmod(magic_path(&closed), Mode::RWXU)?;
            open_child_directory(parent, name)
        }
        outcome => outcome,
    }
}

/// Removes what is in a directory that may be protected against that, as some tools do with their caches.
fn unlink(directory: &OwnedFd, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    match rustix::fs::unlinkat(directory, name, flags) {
        Err(Errno::ACCESS) => {
            rustix::fs::fchmod(directory, Mode::RWXU)?;
            rustix::fs::unlinkat(directory, name, flags)
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    use super::*;
    use crate::Roots;

    #[test]
    fn directories_that_are_closed_to_their_owner_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("top");
        for directory in ["", "closed", "protected"] {
            create_dir(top.join(directory)).unwrap();
            write(top.join(directory).join("file"), "content").unwrap();
        }
        set_permissions(top.join("closed"), Permissions::from_mode(0)).unwrap();
        set_permissions(top.join("protected"), Permissions::from_mode(0o555)).unwrap();
        let inside = Roots::new([parent.path().to_owned()])
            .unwrap()
            .resolve(parent.path())
            .unwrap();
        // Like a plain user: root would not notice. The thread's rights go with it.
        let removed = std::thread::spawn(move || {
            let none = CapabilitySet::empty();
            let sets = CapabilitySets {
                effective: none,
                permitted: none,
                inheritable: none,
            };
            set_capabilities(None, sets).unwrap();
            remove_tree(&inside, "top".as_ref(), &AtomicBool::new(false))
        });
        removed.join().unwrap().unwrap();
        assert!(!top.exists());
    }
}
