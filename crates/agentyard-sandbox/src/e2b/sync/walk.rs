//! How a directory of this machine looks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, readlinkat, statat};

use super::{MAX_FILES, Stamp, is_hidden};

/// Whatever is asked for is beneath the directory, and no link leads there.
pub(super) const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// How everything below a directory looks that is a file, a directory or a link. It blocks.
pub(in super::super) fn walk(
    root: BorrowedFd<'_>,
    hidden: &BTreeSet<PathBuf>,
) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(path) = waiting.pop() {
        let directory = match open_directory(root, &path) {
            Ok(directory) => directory,
            // It went, or something else took its place, since it was seen.
            Err(error) if is_gone(&error) => continue,
            Err(error) => return Err(error),
        };
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let below = path.join(name);
            if is_hidden(hidden, &below) {
                continue;
            }
            let Some(stamp) = stamp(directory.as_fd(), name)? else {
                continue;
            };
            if matches!(stamp, Stamp::Directory { .. }) {
                waiting.push(below.clone());
            }
            found.insert(below, stamp);
            if found.len() > MAX_FILES {
                return Err(io::Error::other(format!(
                    "a directory has more than {MAX_FILES} files, which is too many to be copied"
                )));
            }
        }
    }
    Ok(found)
}

/// How a file looks; nothing when it is gone, or none that is copied.
pub(super) fn stamp(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Stamp>> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(of_file(&stat)),
        FileType::Directory => Some(Stamp::Directory {
            mode: permissions(&stat),
        }),
        FileType::Symlink => {
            let target = readlinkat(directory, name, Vec::new())?;
            Some(Stamp::Link(OsStr::from_bytes(target.to_bytes()).to_owned()))
        }
        _ => None,
    })
}

fn of_file(stat: &Stat) -> Stamp {
    Stamp::File {
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        mode: permissions(stat),
        modified: (stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
        changed: (stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
    }
}

fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o777
}

pub(super) fn open_directory(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat2(root, path, flags, Mode::empty(), BENEATH)?)
}

fn is_gone(error: &io::Error) -> bool {
    let gone = [
        rustix::io::Errno::NOENT,
        rustix::io::Errno::NOTDIR,
        rustix::io::Errno::LOOP,
    ];
    gone.iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
