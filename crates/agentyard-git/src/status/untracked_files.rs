//! The files of directories without tracked files, one by one.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::directory::{Continue, Directory};
use super::entry::pattern_case;
use super::ignore::{Excludes, Sources};
use super::{check_cancelled, submodule};
use crate::{Confined, Error, Repository, display_path};

/// What is in a directory without tracked files.
#[derive(Default)]
pub(crate) struct UntrackedFiles {
    /// Files and links that are not ignored.
    pub(crate) files: Vec<BString>,
    /// Directories that are repositories of their own.
    pub(crate) repositories: Vec<BString>,
    /// Pipes, sockets and devices.
    pub(crate) special: Vec<BString>,
    /// There are more files than were asked for.
    pub(crate) truncated: bool,
}

/// What is ignored, by the files of the working tree and an index.
pub(crate) struct IgnoreRules<'a> {
    worktree: &'a Confined,
    objects: &'a gix::Repository,
    index: &'a gix::index::State,
    excludes: Excludes,
    failure: OnceLock<Error>,
    cancel: &'a AtomicBool,
}

/// Deeper directories are not looked into. git's own paths end at 4096 bytes.
const MAX_DEPTH: usize = 512;

impl<'a> IgnoreRules<'a> {
    pub(crate) fn new(
        repository: &Repository,
        worktree: &'a Confined,
        objects: &'a gix::Repository,
        index: &'a gix::index::State,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            worktree,
            objects,
            index,
            excludes: Excludes::new(Some(repository), pattern_case(objects)),
            failure: OnceLock::new(),
            cancel,
        }
    }

    /// Everything in a directory that is not ignored, `limit` files at most.
    pub(crate) fn files_below(&self, directory: &BStr, limit: usize) -> Result<UntrackedFiles, Error> {
        let mut found = UntrackedFiles::default();
        match Directory::at(self.worktree, directory) {
            Ok(directory) => self.walk(&Arc::new(directory), limit, &mut found)?,
            Err(errno) if is_closed(errno) => {}
            Err(errno) => return Err(unreadable(directory, errno)),
        }
        self.checked(found)
    }

    /// Whether a file that is not tracked is ignored.
    pub(crate) fn ignores(&self, path: &BStr) -> Result<bool, Error> {
        let parent = path[..path.rfind_byte(b'/').unwrap_or(0)].as_bstr();
        match Directory::at(self.worktree, parent) {
            Ok(directory) => {
                let ignored = self
                    .excludes
                    .is_excluded(&directory, path, false, &self.sources());
                self.checked(ignored)
            }
            Err(errno) if is_closed(errno) => Ok(false),
            Err(errno) => Err(unreadable(parent, errno)),
        }
    }

    fn walk(
        &self,
        directory: &Arc<Directory>,
        limit: usize,
        found: &mut UntrackedFiles,
    ) -> Result<(), Error> {
        check_cancelled(self.cancel)?;
        if submodule::is_repository(directory, self.worktree) {
            found.repositories.push(directory.path().to_owned());
            return Ok(());
        }
        let mut below = Vec::new();
        directory.list(|name, kind| {
            let path = directory.path_of(name.to_bytes());
            let is_directory = kind == FileType::Directory;
            if self
                .excludes
                .is_excluded(directory, path.as_bstr(), is_directory, &self.sources())
            {
                return Ok(Continue::Yes);
            }
            match kind {
                FileType::Directory => below.push(BString::from(name.to_bytes())),
                FileType::RegularFile | FileType::Symlink if found.files.len() >= limit => {
                    found.truncated = true;
                    return Ok(Continue::No);
                }
                FileType::RegularFile | FileType::Symlink => found.files.push(path),
                _ => found.special.push(path),
            }
            Ok(Continue::Yes)
        })?;
        for name in below {
            if found.truncated || directory.depth() >= MAX_DEPTH {
                break;
            }
            match directory.child(name.as_bstr()) {
                Ok(child) => self.walk(&Arc::new(child), limit, found)?,
                Err(errno) if is_closed(errno) => {}
                Err(errno) => return Err(unreadable(directory.path_of(&name).as_bstr(), errno)),
            }
        }
        Ok(())
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            left_out: Some((self.index, self.objects)),
            failure: &self.failure,
        }
    }

    /// Fails when some rules could not be read.
    fn checked<T>(&self, found: T) -> Result<T, Error> {
        match self.failure.get() {
            None => Ok(found),
            Some(failure) => Err(Error::state(
                failure.to_string(),
                "make the .gitignore files of the working tree readable",
            )),
        }
    }
}

/// Whether a directory is gone, is no directory any more, or is closed to us; git passes over it, too.
fn is_closed(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM
    )
}

fn unreadable(path: &BStr, errno: Errno) -> Error {
    Error::ReadFile {
        path: display_path(path),
        source: errno.into(),
    }
}
