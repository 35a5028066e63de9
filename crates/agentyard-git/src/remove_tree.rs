//! A directory and all that is in it is removed, by descriptor: no link on the way leads anywhere else.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use crate::descriptor::open_child_directory;
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
    match open_child_directory(parent.directory(), name.as_bytes()) {
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
                let child = open_child_directory(&directory, name.to_bytes()).map_err(failed)?;
                self.empty(child, depth + 1)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            rustix::fs::unlinkat(&directory, name, flags).map_err(failed)?;
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
