//! A directory and all that is in it is removed, by descriptor: no link on the way leads anywhere else.

use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::descriptor::{magic_path, open_child_directory};
use crate::error::check_cancelled;
use crate::roots::shown;
use crate::{Confined, Error};

/// How deep directories are gone into: each holds a descriptor open. What lies deeper is moved up first.
const MAX_DEPTH: usize = 100;

/// How often that is done. A path that takes more was made by somebody who means no good.
const MAX_MOVES: usize = 10_000;

/// How often is begun anew.
const MAX_ROUNDS: usize = 1_000;

/// Removes the directory `name` of `parent`. One that is not there is no failure.
pub(crate) fn remove_tree(parent: &Confined, name: &OsStr, cancel: &AtomicBool) -> Result<(), Error> {
    let removal = Removal {
        shown: shown(&parent.path().join(name)),
        cancel,
        moved: Cell::new(0),
        is_left: Cell::new(false),
    };
    let top = match open(parent.directory(), name.as_bytes()) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(removal.failed(errno)),
    };
    // Once for what is there, and again for what was moved up, or put there by somebody, meanwhile.
    for _ in 0..MAX_ROUNDS {
        removal.is_left.set(false);
        removal.empty(&top, &top, 0)?;
        if removal.is_left.get() {
            continue;
        }
        match rustix::fs::unlinkat(parent.directory(), name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(removal.failed(errno)),
        }
    }
    Err(removal.failed(Errno::NOTEMPTY))
}

struct Removal<'a> {
    /// For messages.
    shown: String,
    cancel: &'a AtomicBool,
    /// How many directories were moved up.
    moved: Cell<usize>,
    /// Whether anything was left in this round.
    is_left: Cell<bool>,
}

impl Removal<'_> {
    fn empty(&self, top: &OwnedFd, directory: &OwnedFd, depth: usize) -> Result<(), Error> {
        let failed = |errno| self.failed(errno);
        for entry in Dir::read_from(directory).map_err(failed)? {
            check_cancelled(self.cancel)?;
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                    FileType::from_raw_mode(stat.map_err(failed)?.st_mode)
                }
                kind => kind,
            };
            let flags = if kind == FileType::Directory {
                if depth == MAX_DEPTH {
                    self.move_up(top, directory, name)?;
                    continue;
                }
                let child = match open(directory.as_fd(), name.to_bytes()) {
                    Err(Errno::NOENT) => continue,
                    other => other.map_err(failed)?,
                };
                self.empty(top, &child, depth + 1)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            match unlink(directory, name, flags) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) => self.is_left.set(true),
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(())
    }

    /// Puts a directory that lies too deep to the top, under a name that nothing has there.
    fn move_up(&self, top: &OwnedFd, directory: &OwnedFd, name: &CStr) -> Result<(), Error> {
        self.is_left.set(true);
        while self.moved.get() < MAX_MOVES {
            self.moved.set(self.moved.get() + 1);
            let there = format!(".removed-{}", self.moved.get());
            match rustix::fs::renameat_with(directory, name, top, &*there, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                outcome => return outcome.map_err(|errno| self.failed(errno)),
            }
        }
        Err(self.failed(Errno::NAMETOOLONG))
    }

    fn failed(&self, errno: Errno) -> Error {
        Error::state(
            format!(
                "{} could not be removed whole: {}",
                self.shown,
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
    use crate::descriptor::open_child_directory;

    #[test]
    fn whatever_the_depth_all_of_it_goes_and_nothing_beside() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("beside/kept")).unwrap();
        create_dir(directory.path().join("top")).unwrap();
        let mut here = open_child_directory(
            rustix::fs::CWD,
            directory.path().join("top").as_os_str().as_bytes(),
        )
        .unwrap();
        for _ in 0..350 {
            rustix::fs::symlinkat(directory.path().join("beside"), &here, "link").unwrap();
            rustix::fs::mkdirat(&here, "deeper", 0o700.into()).unwrap();
            here = open_child_directory(&here, b"deeper").unwrap();
        }
        let parent = Roots::new([directory.path().to_owned()]).unwrap();
        let parent = parent.resolve(directory.path()).unwrap();
        remove_tree(&parent, "top".as_ref(), &AtomicBool::new(false)).unwrap();
        assert!(!directory.path().join("top").exists());
        assert!(directory.path().join("beside/kept").exists());
    }

    #[test]
    fn directories_that_are_closed_to_their_owner_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let top = parent.path().join("top");
        for directory in ["", "closed", "protected"] {
            create_dir(top.join(directory)).unwrap();
            write(top.join(directory).join("file"), "content").unwrap();
        }
        set_permissions(top.join("closed"), Permissions::from_mode(0o000)).unwrap();
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
