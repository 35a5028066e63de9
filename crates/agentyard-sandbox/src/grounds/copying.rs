//! Copying a directory with all that is in it. It was filled by somebody who is not trusted: it is walked by descriptor,
//! nothing is followed, nothing is waited for, and what cannot be copied is not guessed at.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, XattrFlags, chownat,
    copy_file_range, fchmod, fgetxattr, flistxattr, flistxattr_query, fsetxattr, ftruncate, ioctl_ficlone,
    linkat, mkdirat, mknodat, openat, readlinkat, seek, statat, symlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

/// How deep directories are gone into: each holds two descriptors.
const MAX_DEPTH: usize = 200;

/// How many entries are copied.
const MAX_ENTRIES: u64 = 5_000_000;

/// How much is remembered of files with several names. What is beyond that becomes a file of its own under each.
const MAX_REMEMBERED_BYTES: usize = 64 * 1024 * 1024;

/// The longest list of attributes, and the longest attribute, that the kernel has.
const MAX_ATTRIBUTES: usize = 64 * 1024;

/// What the kernel has noted in a layer about the layers below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notes {
    /// Nothing: there are none below.
    None,
    /// In attributes that only root can write.
    Trusted,
    /// In attributes of the user's own.
    User,
}

impl Notes {
    /// Whether an attribute goes with a copy. Whose inode a file was once copied from does not: that is about the
    /// original only.
    fn keep(self, name: &[u8]) -> bool {
        match self {
            Self::None => name.starts_with(b"user.") && !name.starts_with(b"user.overlay."),
            Self::Trusted => {
                name.starts_with(b"user.")
                    || matches!(name, b"trusted.overlay.opaque" | b"trusted.overlay.redirect")
            }
            Self::User => {
                name == b"user.overlay.opaque"
                    || (name.starts_with(b"user.") && !name.starts_with(b"user.overlay."))
            }
        }
    }
}

/// Copies all that is in a directory into an empty one of ours, which becomes like it.
pub(super) fn copy_tree(notes: Notes, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (from, to) = (
        openat(from, ".", flags, Mode::empty())?,
        openat(to, ".", flags, Mode::empty())?,
    );
    let found = rustix::fs::fstat(&from)?;
    let mut copying = Copying {
        notes,
        top: to.try_clone()?,
        linked: HashMap::new(),
        remembered: 0,
        shares: true,
        entries: 0,
    };
    copying.directory(from, &to, &found, Path::new(""), 0)
}

/// A copy being made.
struct Copying {
    notes: Notes,
    /// The directory that it is made in.
    top: OwnedFd,
    /// Where files are by now that have several names.
    linked: HashMap<(u64, u64), PathBuf>,
    /// How many bytes that takes.
    remembered: usize,
    /// Whether files share their blocks, as far as was tried.
    shares: bool,
    entries: u64,
}

impl Copying {
    /// Copies what is in a directory, and then makes the copy like it. Its entries are taken one by one: how many there
    /// are was for others to decide.
    fn directory(
        &mut self,
        from: OwnedFd,
        to: &OwnedFd,
        found: &Stat,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other(format!(
                "its directories are nested deeper than {MAX_DEPTH}"
            )));
        }
        let mut from = Dir::new(from)?;
        while let Some(entry) = from.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(io::Error::other(format!(
                    "it has more than {MAX_ENTRIES} entries"
                )));
            }
            self.entry(from.fd()?, to, path, name, depth)?;
        }
        self.finish(from.fd()?, to, found)
    }

    fn entry(
        &mut self,
        from: BorrowedFd<'_>,
        to: &OwnedFd,
        path: &Path,
        name: &CStr,
        depth: usize,
    ) -> io::Result<()> {
        let found = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let here = path.join(as_os(name));
        let kind = FileType::from_raw_mode(found.st_mode);
        let has_names = kind != FileType::Directory && found.st_nlink > 1;
        if has_names && let Some(first) = self.linked.get(&(found.st_dev, found.st_ino)) {
            match linkat(&self.top, first, to, name, AtFlags::empty()) {
                Ok(()) => return Ok(()),
                // Too many names, or a path too long: it becomes a file of its own.
                Err(Errno::MLINK | Errno::NAMETOOLONG) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        match kind {
            FileType::Directory => {
                let below = open(from, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
                mkdirat(to, name, Mode::RWXU)?;
                let made = open(to, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
                return self.directory(below, &made, &found, &here, depth + 1);
            }
            FileType::RegularFile => self.file(from, to, name, &found)?,
            FileType::Symlink => {
                let target = readlinkat(from, name, Vec::new())?;
                symlinkat(&target, to, name)?;
                own(to, name, &found)?;
                stamp(to, name, &found)?;
            }
            FileType::Fifo | FileType::Socket => special(to, name, kind, &found)?,
            // What the kernel puts where something below is gone. Nobody else has devices here.
            FileType::CharacterDevice if found.st_rdev == 0 && self.notes != Notes::None => {
                mknodat(to, name, FileType::CharacterDevice, Mode::empty(), 0)?;
            }
            _ => return Ok(()),
        }
        if has_names {
            self.remember(&found, here);
        }
        Ok(())
    }

    /// Remembers where a file is that has other names, too.
    fn remember(&mut self, found: &Stat, here: PathBuf) {
        let bytes = here.as_os_str().len() + size_of::<((u64, u64), PathBuf)>();
        if self.remembered + bytes <= MAX_REMEMBERED_BYTES {
            self.remembered += bytes;
            self.linked.insert((found.st_dev, found.st_ino), here);
        }
    }

    fn file(&mut self, from: BorrowedFd<'_>, to: &OwnedFd, name: &CStr, found: &Stat) -> io::Result<()> {
        // Another kind of file may be there by now, if somebody does not keep still: it is not waited for.
        let source = open(from, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        if FileType::from_raw_mode(rustix::fs::fstat(&source)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("a file became something else meanwhile"));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        if found.st_size > 0 {
            self.shares = self.shares && ioctl_ficlone(&made, &source).is_ok();
            if !self.shares {
                copy_data(&source, &made, found.st_size.unsigned_abs())?;
            }
        }
        self.finish(source.as_fd(), &made, found)
    }

    /// Gives a copy the attributes, owner, mode and times of its original.
    fn finish(&self, from: BorrowedFd<'_>, to: &OwnedFd, found: &Stat) -> io::Result<()> {
        self.copy_attributes(from, to)?;
        if rustix::process::geteuid().is_root() {
            rustix::fs::fchown(
                to,
                Some(Uid::from_raw(found.st_uid)),
                Some(Gid::from_raw(found.st_gid)),
            )?;
        }
        fchmod(to, Mode::from_raw_mode(found.st_mode & 0o7777))?;
        Ok(rustix::fs::futimens(to, &times(found))?)
    }

    fn copy_attributes(&self, from: BorrowedFd<'_>, to: &OwnedFd) -> io::Result<()> {
        // Most files have none, and the kernel needs no room to say so.
        match flistxattr_query(from) {
            Ok(0) | Err(Errno::NOTSUP) => return Ok(()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut list = vec![0; MAX_ATTRIBUTES];
        let length = flistxattr(from, list.as_mut_slice())?;
        list.truncate(length);
        let mut value = vec![0; MAX_ATTRIBUTES];
        for name in list.split(|byte| *byte == 0).filter(|name| self.notes.keep(name)) {
            let length = fgetxattr(from, name, value.as_mut_slice())?;
            fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
        }
        Ok(())
    }
}

/// Copies what a file holds, and not its holes.
fn copy_data(from: &OwnedFd, to: &OwnedFd, size: u64) -> io::Result<()> {
    ftruncate(to, size)?;
    let mut position = 0;
    while position < size {
        let start = match seek(from, SeekFrom::Data(position)) {
            Ok(start) => start,
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(from, SeekFrom::Hole(start))?.min(size);
        if end <= start {
            return Ok(());
        }
        copy_piece(from, to, start, end)?;
        position = end;
    }
    Ok(())
}

fn copy_piece(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> io::Result<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let length = usize::try_from(end - read_at).unwrap_or(usize::MAX);
        match copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), length) {
            // It has become shorter.
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(Errno::XDEV | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                return copy_through_memory(from, to, read_at, end);
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn copy_through_memory(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> io::Result<()> {
    let (mut from, mut to) = (File::from(from.try_clone()?), File::from(to.try_clone()?));
    from.seek(io::SeekFrom::Start(start))?;
    to.seek(io::SeekFrom::Start(start))?;
    io::copy(&mut io::Read::take(from, end - start), &mut to).map(drop)
}

/// A pipe, or what is left of a socket.
fn special(to: &OwnedFd, name: &CStr, kind: FileType, found: &Stat) -> io::Result<()> {
    mknodat(to, name, kind, Mode::from_raw_mode(found.st_mode & 0o777), 0)?;
    own(to, name, found)?;
    stamp(to, name, found)
}

fn own(directory: &OwnedFd, name: &CStr, found: &Stat) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
    Ok(chownat(
        directory,
        name,
        Some(user),
        Some(group),
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn stamp(directory: &OwnedFd, name: &CStr, found: &Stat) -> io::Result<()> {
    Ok(utimensat(
        directory,
        name,
        &times(found),
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn times(found: &Stat) -> Timestamps {
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds.try_into().unwrap_or_default(),
    };
    Timestamps {
        last_access: time(found.st_atime, found.st_atime_nsec),
        last_modification: time(found.st_mtime, found.st_mtime_nsec),
    }
}

fn open(directory: impl AsFd, name: &CStr, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::empty())?)
}

fn as_os(name: &CStr) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name.to_bytes())
}
