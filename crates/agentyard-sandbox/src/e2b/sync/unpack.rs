//! What comes back from a sandbox. Whoever runs code there has written it, so nothing in it is believed: every path must
//! be one that was asked for, what is made is made beneath the directory and through no link, and there is not more of it
//! than there may be.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, mkdirat, openat, renameat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use tar::{Archive, Entry, EntryType};

use super::walk::{open_directory, stamp};
use super::{Listed, Stamp, stays_below};

/// How much an archive may say before what a file holds: headers, and names that do not fit into them. All of that is kept
/// in memory.
const HEAD_BYTES: u64 = 64 * 1024;

/// The name of a file that is not whole yet.
const UNFINISHED: &str = ".agentyard-incoming";

/// How much may come back.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bounds {
    /// In all.
    pub(in super::super) bytes: u64,
    /// In one file.
    pub(in super::super) file_bytes: u64,
}

/// Puts what an archive has in its place, as far as it was asked for, and tells how it looks there. It blocks.
pub(in super::super) fn unpack(
    root: BorrowedFd<'_>,
    archive: impl Read,
    wanted: &BTreeMap<PathBuf, Listed>,
    bounds: Bounds,
) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let ration = Cell::new(HEAD_BYTES);
    let mut archive = Archive::new(Rationed {
        archive,
        ration: &ration,
    });
    let mut placed = BTreeMap::new();
    let mut left = bounds.bytes;
    let mut seen = BTreeSet::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let Some(path) = path_of(&entry).filter(|path| wanted.contains_key(path)) else {
            return Err(refused("has something that was not asked for"));
        };
        if !seen.insert(path.clone()) {
            return Err(refused("has the same file twice"));
        }
        let size = entry.size();
        if size > bounds.file_bytes || size > left {
            return Err(refused("is larger than it may be"));
        }
        left -= size;
        ration.set(size.saturating_add(HEAD_BYTES));
        let parent = open_directory(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                place_file(&parent, name, &mut entry)?;
            }
            EntryType::Directory => place_directory(&parent, name, &entry)?,
            EntryType::Symlink => place_link(&parent, name, &entry)?,
            // Devices, pipes, and links to files that may be anywhere.
            _ => return Err(refused("has something that is neither file, directory nor link")),
        }
        if let Some(stamp) = stamp(parent.as_fd(), name)? {
            placed.insert(path, stamp);
        }
    }
    Ok(placed)
}

/// An archive of which no more can be read than it was given leave for.
struct Rationed<'a, R> {
    archive: R,
    ration: &'a Cell<u64>,
}

impl<R: Read> Read for Rationed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.archive.read(buffer)?;
        let left = self.ration.get().checked_sub(read as u64);
        self.ration
            .set(left.ok_or_else(|| refused("has a name without end"))?);
        Ok(read)
    }
}

/// Removes what is at these paths, the lowest first. A directory that has something else in it stays. It blocks.
pub(in super::super) fn remove(root: BorrowedFd<'_>, paths: &[PathBuf]) -> io::Result<()> {
    let mut paths: Vec<&PathBuf> = paths.iter().filter(|path| stays_below(path)).collect();
    paths.sort();
    for path in paths.into_iter().rev() {
        // Where there is no directory, there is nothing in it.
        let Ok(parent) = open_directory(root, path.parent().unwrap_or(Path::new(""))) else {
            continue;
        };
        clear(&parent, path.file_name().unwrap_or_default())?;
    }
    Ok(())
}

/// Takes away what is in the place of something else; a directory only when it is empty.
fn clear(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let removed = match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => unlinkat(parent, name, AtFlags::REMOVEDIR),
        removed => removed,
    };
    match removed {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn place_file(parent: &OwnedFd, name: &OsStr, entry: &mut Entry<'_, impl Read>) -> io::Result<()> {
    clear(parent, OsStr::new(UNFINISHED))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(parent, UNFINISHED, flags, Mode::from_raw_mode(0o600))?;
    let written = fill(file, entry).and_then(|()| {
        if let Some(Stamp::Directory { .. }) = stamp(parent.as_fd(), name)? {
            clear(parent, name)?;
        }
        Ok(renameat(parent, UNFINISHED, parent, name)?)
    });
    if written.is_err() {
        // The failure before this one is the one to tell.
        let _ = clear(parent, OsStr::new(UNFINISHED));
    }
    written
}

fn fill(file: OwnedFd, entry: &mut Entry<'_, impl Read>) -> io::Result<()> {
    let mut file = File::from(file);
    let size = entry.size();
    let copied = io::copy(&mut entry.take(size), &mut file)?;
    if copied != size {
        return Err(refused("breaks off"));
    }
    fchmod(&file, mode_of(entry, 0o644))?;
    let seconds = entry.header().mtime().unwrap_or_default();
    let time = Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or_default(),
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(futimens(&file, &times)?)
}

fn place_directory(parent: &OwnedFd, name: &OsStr, entry: &Entry<'_, impl Read>) -> io::Result<()> {
    match stamp(parent.as_fd(), name)? {
        Some(Stamp::Directory { .. }) => {}
        Some(_) => {
            clear(parent, name)?;
            mkdirat(parent, name, Mode::RWXU)?;
        }
        None => mkdirat(parent, name, Mode::RWXU)?,
    }
    let made = open_directory(parent.as_fd(), Path::new(name))?;
    // Whoever works here must be able to enter it.
    Ok(fchmod(made, mode_of(entry, 0o755) | Mode::RWXU)?)
}

fn place_link(parent: &OwnedFd, name: &OsStr, entry: &Entry<'_, impl Read>) -> io::Result<()> {
    let target = entry.link_name_bytes().unwrap_or_default();
    if target.is_empty() || target.len() > 4096 {
        return Err(refused("has a link that leads nowhere"));
    }
    clear(parent, name)?;
    // It is nobody's way here: whoever follows it does so with care, as with any link in a tree.
    Ok(symlinkat(OsStr::from_bytes(&target), parent, name)?)
}

/// What a file's owner and others may do with it. Nobody becomes somebody else by running it.
fn mode_of(entry: &Entry<'_, impl Read>, otherwise: u32) -> Mode {
    Mode::from_raw_mode(entry.header().mode().unwrap_or(otherwise) & 0o777)
}

/// Where an entry belongs, if that is below the directory.
fn path_of(entry: &Entry<'_, impl Read>) -> Option<PathBuf> {
    let bytes = entry.path_bytes();
    let mut bytes: &[u8] = &bytes;
    // As it was asked for.
    if let Some(rest) = bytes.strip_prefix(b"./") {
        bytes = rest;
    }
    if let Some(rest) = bytes.strip_suffix(b"/") {
        bytes = rest;
    }
    let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
    stays_below(&path).then_some(path)
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("what came back {reason}"))
}
