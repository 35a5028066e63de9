//! An index of a base is made to fit other files than those that it was written for, or these after a change of what
//! the kernel says about them. Nothing is hashed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Mode as EntryMode, Stat, stat::Time};
use rustix::fs::{Mode, OFlags};

use super::layout::failed;
use crate::descriptor::as_path;
use crate::error::check_cancelled;
use crate::{Confined, Error, ObjectId};

/// More threads than this get into each other's way in the kernel.
const MAX_THREADS: usize = 8;

/// Reads the index of a base of a commit.
pub(super) fn read_index(path: &Path, commit: &ObjectId) -> Result<gix::index::File, Error> {
    let kind = gix::ObjectId::from(*commit).kind();
    gix::index::File::at(path, kind, true, gix::index::decode::Options::default())
        .map_err(Error::read("the index of the base"))
}

/// Writes an index under a name that nothing has yet.
pub(super) fn write_index(index: &gix::index::File, directory: &Confined, name: &str) -> Result<(), Error> {
    let made = failed("made", &directory.path().join(name));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.directory(), name, flags, Mode::from_raw_mode(0o644))
        .map_err(|errno| made(errno.into()))?;
    let mut file = BufWriter::new(File::from(file));
    index
        .write_to(&mut file, gix::index::write::Options::default())
        .map_err(|error| made(io::Error::other(error.to_string())))?;
    file.flush().map_err(&made)
}

/// The directories of an index's files, and those that stand for submodules. Each comes after the one that it is in.
pub(super) fn directories(index: &gix::index::File) -> BTreeSet<&BStr> {
    let mut directories = BTreeSet::new();
    for entry in index.entries() {
        let path = entry.path(index);
        if entry.mode == EntryMode::COMMIT {
            directories.insert(path);
        }
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        directories.extend(slashes.map(|(end, _)| BStr::new(&path[..end])));
    }
    directories
}

/// Does something with every file and link of an index, in several threads, and notes there what the kernel then says
/// about it.
pub(super) fn renew_stats(
    index: &mut gix::index::File,
    cancel: &AtomicBool,
    act: impl Fn(&Path, EntryMode) -> Result<Stat, Error> + Sync,
) -> Result<(), Error> {
    let stats = new_stats(index, cancel, &act)?;
    for (entry, stat) in index.entries_mut().iter_mut().zip(stats) {
        if let Some(stat) = stat {
            entry.stat = stat;
        }
    }
    Ok(())
}

/// In the order of the index.
fn new_stats(
    index: &gix::index::File,
    cancel: &AtomicBool,
    act: &(impl Fn(&Path, EntryMode) -> Result<Stat, Error> + Sync),
) -> Result<Vec<Option<Stat>>, Error> {
    let entries = index.entries();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
    let share = entries.len().div_ceil(threads).max(1);
    let one = |entry: &gix::index::Entry| {
        check_cancelled(cancel)?;
        match entry.mode {
            EntryMode::FILE | EntryMode::FILE_EXECUTABLE | EntryMode::SYMLINK => {
                act(as_path(entry.path(index).as_bytes()), entry.mode).map(Some)
            }
            _ => Ok(None),
        }
    };
    std::thread::scope(|scope| {
        let working: Vec<_> = entries
            .chunks(share)
            .map(|entries| scope.spawn(move || entries.iter().map(one).collect::<Result<Vec<_>, Error>>()))
            .collect();
        let mut stats = Vec::with_capacity(entries.len());
        for thread in working {
            let done = thread
                .join()
                .map_err(|_| Error::state("a thread that worked on a base panicked", "try again"))?;
            stats.extend(done?);
        }
        Ok(stats)
    })
}

/// What git notes about a file, cut to the 32 bits that it has for each.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git cuts in the same way"
)]
pub(super) fn noted(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        mtime: Time {
            secs: stat.st_mtime as u32,
            nsecs: stat.st_mtime_nsec as u32,
        },
        ctime: Time {
            secs: stat.st_ctime as u32,
            nsecs: stat.st_ctime_nsec as u32,
        },
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u32,
    }
}
