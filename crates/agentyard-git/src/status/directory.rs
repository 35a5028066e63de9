//! Directories of the working tree, each reached from the one above by its descriptor.
//!
//! An agent may be at work in the tree while it is read. Whatever it puts in place of a directory, the walk
//! never leaves the tree: links are not followed, and what was opened stays what it was.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use super::ignore::Patterns;
use crate::descriptor::{open_child_directory, read_child_file};
use crate::{Confined, Error, display_path};

/// An open directory of the working tree.
pub(crate) struct Directory {
    descriptor: OwnedFd,
    /// Relative to the top and with a slash at its end; empty at the top.
    pub(crate) prefix: BString,
    pub(crate) parent: Option<Arc<Directory>>,
    /// What its `.gitignore` says, read when first needed.
    pub(crate) patterns: OnceLock<Option<Patterns>>,
    /// Whether the directory as a whole is ignored.
    pub(crate) excluded: OnceLock<bool>,
}

/// Room for the entries of most directories in one system call.
const LISTING_BUFFER: usize = 32 * 1024;

impl Directory {
    pub(crate) fn top(worktree: &Confined) -> Result<Self, Errno> {
        Ok(Self::new(
            open_child_directory(worktree.directory(), b".")?,
            BString::default(),
            None,
        ))
    }

    /// Opens a directory by its prefix, one step after the other.
    pub(crate) fn at(worktree: &Confined, prefix: &BStr) -> Result<Self, Errno> {
        let mut names = prefix.split_str(b"/").filter(|name| !name.is_empty());
        names.try_fold(Self::top(worktree)?, |directory, name| {
            Arc::new(directory).child(name.as_bstr())
        })
    }

    /// Opens an entry, which must be a directory and not a link to one.
    pub(crate) fn child(self: &Arc<Self>, name: &BStr) -> Result<Self, Errno> {
        let descriptor = open_child_directory(&self.descriptor, name)?;
        let prefix = self.prefix_of(name);
        Ok(Self::new(descriptor, prefix, Some(Arc::clone(self))))
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The path of an entry, relative to the top.
    pub(crate) fn path_of(&self, name: &[u8]) -> BString {
        let mut path = BString::new(Vec::with_capacity(self.prefix.len() + name.len() + 1));
        path.extend_from_slice(&self.prefix);
        path.extend_from_slice(name);
        path
    }

    /// The prefix of a directory in this one.
    pub(crate) fn prefix_of(&self, name: &[u8]) -> BString {
        let mut prefix = self.path_of(name);
        prefix.push(b'/');
        prefix
    }

    /// The directory's own path, relative to the top.
    pub(crate) fn path(&self) -> &BStr {
        self.prefix.strip_suffix(b"/").unwrap_or(&self.prefix).as_bstr()
    }

    /// How many directories are above this one.
    pub(crate) fn depth(&self) -> usize {
        self.prefix.find_iter(b"/").count()
    }

    /// From the top down to this one.
    pub(crate) fn chain(&self) -> Vec<&Self> {
        let mut chain = Vec::new();
        let mut next = Some(self);
        while let Some(directory) = next {
            chain.push(directory);
            next = directory.parent.as_deref();
        }
        chain.reverse();
        chain
    }

    /// A small file. One that is closed to us, or larger than it can sensibly be, counts as absent.
    pub(crate) fn read(&self, name: &[u8], limit: usize) -> Result<Option<Vec<u8>>, Error> {
        match read_child_file(&self.descriptor, name, limit) {
            Ok(content) => Ok(content),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::FileTooLarge
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(Error::ReadFile {
                path: display_path(self.path_of(name).as_bstr()),
                source,
            }),
        }
    }

    /// Calls `visit` for every entry that git can see: not for `.git`, and not for `.` and `..`.
    pub(crate) fn list(
        &self,
        mut visit: impl FnMut(&CStr, FileType) -> Result<Continue, Error>,
    ) -> Result<(), Error> {
        let mut buffer = Vec::with_capacity(LISTING_BUFFER);
        let mut entries = RawDir::new(&self.descriptor, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // Removed since it was opened.
                Err(Errno::NOENT) => break,
                Err(errno) => {
                    return Err(Error::ReadFile {
                        path: display_path(self.path()),
                        source: errno.into(),
                    });
                }
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            if let Continue::No = visit(name, self.known_type(name, entry.file_type()))? {
                break;
            }
        }
        Ok(())
    }

    fn new(descriptor: OwnedFd, prefix: BString, parent: Option<Arc<Self>>) -> Self {
        Self {
            descriptor,
            prefix,
            parent,
            patterns: OnceLock::new(),
            excluded: OnceLock::new(),
        }
    }

    /// Some file systems leave the type of an entry out.
    fn known_type(&self, name: &CStr, listed: FileType) -> FileType {
        match listed {
            FileType::Unknown => rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            listed => listed,
        }
    }
}

/// Whether a listing goes on.
pub(crate) enum Continue {
    Yes,
    No,
}
