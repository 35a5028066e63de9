//! A directory and all that is in it is removed, by descriptor: no link on the way leads anywhere else.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use crate::descriptor::open_child_directory;
use crate::error::check_cancelled;
use crate::roots::shown;
use crate::{Confined, Error};

/// No working tree is deeper.
const MAX_DEPTH: usize = 1024;

/// Removes the directory `name` of `parent`. One that is not there is no failure.
pub(crate) fn remove_tree(parent: &Confined, name: &OsStr, cancel: &AtomicBool) -> Result<(), Error> {
    let failed = |source: io::Error| Error::OpenDirectory {
        path: shown(&parent.path().join(name)),
        source,
    };
    let top = match open_child_directory(parent.directory(), name.as_bytes()) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(failed(errno.into())),
    };
    // Directories that are being emptied, each with its name in the one before.
    let mut open: Vec<(OwnedFd, Vec<CString>)> = vec![(top, Vec::new())];
    let mut names: Vec<CString> = Vec::new();
    let first = empty_files(&open[0].0, cancel).map_err(|error| error.unwrap_or_else(&failed))?;
    open[0].1 = first;
    while let Some((directory, inner)) = open.last_mut() {
        if let Some(next) = inner.pop() {
            let child =
                open_child_directory(&*directory, next.as_bytes()).map_err(|errno| failed(errno.into()))?;
            let below = empty_files(&child, cancel).map_err(|error| error.unwrap_or_else(&failed))?;
            names.push(next);
            open.push((child, below));
            if open.len() > MAX_DEPTH {
                return Err(failed(io::Error::other("it is too deep")));
            }
            continue;
        }
        open.pop();
        let removed = match (open.last(), names.pop()) {
            (Some((above, _)), Some(name)) => rustix::fs::unlinkat(above, &name, AtFlags::REMOVEDIR),
            _ => rustix::fs::unlinkat(parent.directory(), name, AtFlags::REMOVEDIR),
        };
        removed.map_err(|errno| failed(errno.into()))?;
    }
    Ok(())
}

/// Either the call was cancelled, or a file could not be removed.
struct Failed(Result<io::Error, Error>);

impl Failed {
    fn unwrap_or_else(self, failed: impl FnOnce(io::Error) -> Error) -> Error {
        match self.0 {
            Ok(source) => failed(source),
            Err(error) => error,
        }
    }
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self(Ok(errno.into()))
    }
}

/// Removes all that is no directory, and tells the directories.
fn empty_files(directory: impl AsFd, cancel: &AtomicBool) -> Result<Vec<CString>, Failed> {
    let mut inner = Vec::new();
    for entry in Dir::read_from(&directory)? {
        check_cancelled(cancel).map_err(|error| Failed(Err(error)))?;
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        if kind == FileType::Directory {
            inner.push(name.to_owned());
        } else {
            rustix::fs::unlinkat(&directory, name, AtFlags::empty())?;
        }
    }
    Ok(inner)
}
