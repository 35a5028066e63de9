//! Files and directories reached through descriptors, never by walking a path from the top.
//!
//! A path can be made to mean something else between a check and its use; a descriptor cannot.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How often a lookup is repeated that the kernel gave up because a directory was renamed meanwhile.
const RENAME_RETRIES: usize = 64;

/// The file systems whose every change goes through this kernel: ext4 (and its elders), XFS, Btrfs, tmpfs,
/// overlayfs, ZFS and F2FS. Others may change without a word, such as those of a network or of a program.
const LOCAL_FILE_SYSTEMS: [u64; 7] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x794C_7630,
    0x2FC1_2FC1,
    0xF2F5_2010,
];

/// Opens `path` under `directory`. Links are followed while they stay beneath it; leaving it is `EXDEV`.
pub(crate) fn open_beneath(directory: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..RENAME_RETRIES {
        match rustix::fs::openat2(directory.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens the directory `path` under `directory`. No link is followed, wherever it leads: one on the way is `ELOOP`.
pub(crate) fn open_real_directory(directory: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..RENAME_RETRIES {
        match rustix::fs::openat2(directory.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens whatever is called `path` under `directory`, a link itself when `flags` say that only its place is wanted. No
/// link is followed on the way, and nothing is entered that is mounted there.
pub(crate) fn open_entry(directory: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..RENAME_RETRIES {
        match rustix::fs::openat2(directory.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens a directory entry that must itself be a directory, not a link to one.
pub(crate) fn open_child_directory(directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Opens a directory entry that must be a regular file. Anything else counts as absent: a link is not
/// followed, and a pipe is not waited for.
pub(crate) fn open_child_file(directory: impl AsFd, name: &[u8]) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(descriptor) => {
            let is_file = file_type(&descriptor)? == FileType::RegularFile;
            Ok(is_file.then(|| File::from(descriptor)))
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The content of a small regular file, or `None` when there is none. More than `limit` bytes is an error.
pub(crate) fn read_child_file(
    directory: impl AsFd,
    name: &[u8],
    limit: usize,
) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_child_file(directory, name)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut content)?;
    if content.len() > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "larger than expected",
        ));
    }
    Ok(Some(content))
}

/// The type of what a descriptor refers to.
pub(crate) fn file_type(descriptor: impl AsFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode))
}

/// Whether what happens to a directory is known to this kernel as soon as it happens, and stamped with its time.
pub(crate) fn is_local(directory: impl AsFd) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|system| {
        #[expect(clippy::cast_sign_loss, reason = "a magic number")]
        let kind = system.f_type as u64;
        LOCAL_FILE_SYSTEMS.contains(&(kind & 0xFFFF_FFFF))
    })
}

/// Where the kernel says that a descriptor is, free of links.
pub(crate) fn real_path(descriptor: impl AsFd) -> io::Result<PathBuf> {
    let link = rustix::fs::readlink(magic_path(descriptor), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(link.into_bytes())))
}

/// A path that leads through the descriptor, for libraries that take nothing but paths.
pub(crate) fn magic_path(descriptor: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd()))
}

/// Bytes as the path they are on this system.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
