//! Files of the working tree, read and written by descriptor: no link leads anywhere else, nothing is waited for.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::descriptor::{as_path, open_child_directory, open_real_directory};
use crate::{Confined, Error, display_path};

/// The files below a directory, which is a working tree or a git directory.
pub(super) struct Files<'a> {
    top: &'a Confined,
    /// The directory used last, and its path. Files come by directory, mostly.
    last: Option<(BString, OwnedFd)>,
}

/// What is at a path.
pub(super) enum Found {
    Nothing,
    File {
        content: Vec<u8>,
        permissions: u32,
    },
    /// A link, and where it leads.
    Link(Vec<u8>),
    Directory,
    /// A pipe, a socket or a device.
    Special,
    TooLarge,
    Unreadable,
}

/// What to write.
pub(super) enum Content<'a> {
    File { content: &'a [u8], permissions: u32 },
    Link(&'a [u8]),
}

impl<'a> Files<'a> {
    pub(super) fn new(top: &'a Confined) -> Self {
        Self { top, last: None }
    }

    /// What is at a path, read whole up to `limit` bytes.
    pub(super) fn read(&mut self, path: &BStr, limit: u64) -> Result<Found, Error> {
        let failed = |errno: Errno| unreadable(path, errno);
        let (parent, name) = match self.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Found::Nothing),
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Found::Unreadable),
            Err(errno) => return Err(failed(errno)),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Nothing),
            Err(Errno::LOOP) => {
                return match rustix::fs::readlinkat(parent, name, Vec::new()) {
                    Ok(target) => Ok(Found::Link(target.into_bytes())),
                    Err(_) => Ok(Found::Nothing),
                };
            }
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Found::Unreadable),
            // A socket, or a device without a driver.
            Err(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => return Ok(Found::Special),
            Err(errno) => return Err(failed(errno)),
        };
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Found::Directory),
            _ => return Ok(Found::Special),
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if size > limit {
            return Ok(Found::TooLarge);
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
        let read = File::from(descriptor).take(limit + 1).read_to_end(&mut content);
        read.map_err(|source| Error::ReadFile {
            path: display_path(path),
            source,
        })?;
        if content.len() as u64 > limit {
            return Ok(Found::TooLarge);
        }
        Ok(Found::File {
            content,
            permissions: stat.st_mode & 0o777,
        })
    }

    /// Whether there is a directory at a path.
    pub(super) fn is_directory(&mut self, path: &BStr) -> bool {
        let Ok((parent, name)) = self.parent(path) else {
            return false;
        };
        rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Puts a file or a link at a path, in one step, and makes the directories above it. What is in the way and
    /// not the same kind of thing stays, and is an error, except for empty directories.
    pub(super) fn write(&mut self, path: &BStr, content: &Content<'_>) -> Result<(), Error> {
        self.make_parents(path)?;
        let failed = |errno: Errno| unwritten(path, errno);
        let (parent, name) = self.parent(path).map_err(failed)?;
        let scratch = scratch_name();
        let outcome = write_scratch(parent, &scratch, content).and_then(|()| {
            match rustix::fs::renameat(parent, &scratch, parent, name) {
                Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                    remove_empty_directories(parent, name.as_os_str().as_bytes(), 0)?;
                    rustix::fs::renameat(parent, &scratch, parent, name)
                }
                renamed => renamed,
            }
        });
        outcome.map_err(|errno| {
            let _ = rustix::fs::unlinkat(parent, &scratch, AtFlags::empty());
            failed(errno)
        })
    }

    /// Makes a directory, unless there is one.
    pub(super) fn make_directory(&mut self, path: &BStr) -> Result<(), Error> {
        self.make_parents(path)?;
        let (parent, name) = self.parent(path).map_err(|errno| unwritten(path, errno))?;
        match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(unwritten(path, errno)),
        }
    }

    /// Removes a file or a link, and the directories that become empty by that. False when nothing was there.
    pub(super) fn remove(&mut self, path: &BStr) -> Result<bool, Error> {
        let (parent, name) = match self.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            Err(errno) => return Err(unwritten(path, errno)),
        };
        match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) => {}
            // A directory is in its place, which the checkpoint knows by its files.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => return Ok(false),
            Err(errno) => return Err(unwritten(path, errno)),
        }
        let mut directory = path;
        while let Some(slash) = directory.rfind_byte(b'/') {
            directory = directory[..slash].as_bstr();
            self.last = None;
            let Ok((parent, name)) = self.parent(directory) else {
                break;
            };
            if rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(true)
    }

    /// Removes a directory, with those in it, if there is no file.
    pub(super) fn remove_empty_directory(&mut self, path: &BStr) {
        self.last = None;
        if let Ok((parent, name)) = self.parent(path) {
            let _ = remove_empty_directories(parent, name.as_os_str().as_bytes(), 0);
        }
        self.last = None;
    }

    /// Makes room for a file: nothing but empty directories may be in its way.
    pub(super) fn clear_way(&mut self, path: &BStr) -> Result<(), Error> {
        self.make_parents(path)?;
        if self.is_directory(path) {
            let failed = |errno: Errno| unwritten(path, errno);
            let (parent, name) = self.parent(path).map_err(failed)?;
            remove_empty_directories(parent, name.as_os_str().as_bytes(), 0).map_err(failed)?;
        }
        Ok(())
    }

    /// The directory that a path is in, and its last part.
    fn parent<'path>(&mut self, path: &'path BStr) -> Result<(BorrowedFd<'_>, &'path Path), Errno> {
        let slash = path.rfind_byte(b'/');
        let directory = path[..slash.unwrap_or(0)].as_bstr();
        let name = as_path(&path[slash.map_or(0, |slash| slash + 1)..]);
        if self.last.as_ref().is_none_or(|(last, _)| last != directory) {
            self.last = None;
            let opened = open_real_directory(self.top.directory(), as_path(directory))?;
            self.last = Some((directory.to_owned(), opened));
        }
        match &self.last {
            Some((_, opened)) => Ok((opened.as_fd(), name)),
            None => Err(Errno::NOENT),
        }
    }

    /// Makes the directories above a path, each in one that is held open.
    fn make_parents(&mut self, path: &BStr) -> Result<(), Error> {
        if self.parent(path).is_ok() {
            return Ok(());
        }
        let failed = |errno: Errno| unwritten(path, errno);
        let mut directory = open_child_directory(self.top.directory(), b".").map_err(failed)?;
        let mut names = path.split_str(b"/").peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                break;
            }
            match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            directory = open_child_directory(&directory, name).map_err(failed)?;
        }
        Ok(())
    }
}

/// Whether a path stays in the working tree and out of git directories, whoever wrote it down.
pub(super) fn is_safe(path: &BStr) -> bool {
    let is_safe_name = |name: &[u8]| {
        !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git") && !name.contains(&0)
    };
    path.len() < 4096 && path.split_str(b"/").all(is_safe_name)
}

fn write_scratch(parent: BorrowedFd<'_>, scratch: &str, content: &Content<'_>) -> Result<(), Errno> {
    match content {
        Content::Link(target) => rustix::fs::symlinkat(as_path(target), parent, scratch),
        Content::File { content, permissions } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let descriptor = rustix::fs::openat(parent, scratch, flags, Mode::from_raw_mode(0o600))?;
            let mut file = File::from(descriptor);
            let written = file.write_all(content);
            written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(permissions & 0o777))
        }
    }
}

/// Deeper directories are not empty, as far as anybody here cares.
const MAX_DEPTH: usize = 200;

/// Removes a directory in which there are only directories.
fn remove_empty_directories(parent: BorrowedFd<'_>, name: &[u8], depth: usize) -> Result<(), Errno> {
    if depth > MAX_DEPTH {
        return Err(Errno::NOTEMPTY);
    }
    let directory = open_child_directory(parent, name)?;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        match remove_empty_directories(directory.as_fd(), name, depth + 1) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(Errno::NOTEMPTY),
            outcome => outcome?,
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// A name that nobody else uses. One that was left behind counts as a file that is not tracked, and goes with the
/// next restoring.
fn scratch_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(".agentyard-restoring-{}-{number:x}", std::process::id())
}

fn unreadable(path: &BStr, errno: Errno) -> Error {
    Error::ReadFile {
        path: display_path(path),
        source: errno.into(),
    }
}

fn unwritten(path: &BStr, errno: Errno) -> Error {
    let path = display_path(path);
    match errno {
        Errno::NOTEMPTY | Errno::NOTDIR | Errno::LOOP | Errno::EXIST | Errno::ISDIR => Error::state(
            format!("{path} could not be restored: an ignored file is in the way, and those are left alone"),
            "move what is there away, then restore again; nothing is lost meanwhile",
        ),
        errno => Error::state(
            format!("{path} could not be restored: {}", std::io::Error::from(errno)),
            "see whether the disk is full, and whether the directory may be written to; then restore again",
        ),
    }
}
