//! Views whose files share their blocks with a base until they are changed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Mode as EntryMode, Stat, stat::Time};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::base::Base;
use super::layout::{failed, open_root};
use crate::descriptor::as_path;
use crate::error::check_cancelled;
use crate::{Confined, Error};

/// How the content of a file comes into its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// The blocks are shared.
    Blocks,
    /// They are copied: the file system of the tests may share none.
    #[cfg(test)]
    Nothing,
}

/// More threads than this get into each other's way in the kernel.
const MAX_THREADS: usize = 8;

/// Copies a base, and makes an index that fits the copy: the base's, with what the kernel says about the new files.
/// They keep their times, so that none seems to be changed, and are known by their new inodes. Nothing is hashed.
pub(super) fn copy(
    base: &Base,
    tree: &Confined,
    registration: &Confined,
    sharing: Sharing,
    cancel: &AtomicBool,
) -> Result<(), Error> {
    let source = open_root(&base.tree())?;
    let kind = gix::ObjectId::from(base.commit).kind();
    let mut index = gix::index::File::at(base.index(), kind, true, gix::index::decode::Options::default())
        .map_err(Error::read("the index of the base"))?;
    make_directories(&index, tree)?;
    let copying = Copying {
        source: &source,
        target: tree,
        sharing,
        cancel,
    };
    let stats = copying.all(&index)?;
    for (entry, stat) in index.entries_mut().iter_mut().zip(stats) {
        if let Some(stat) = stat {
            entry.stat = stat;
        }
    }
    let path = registration.path().join("index");
    let made = failed("made", &path);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(
        registration.directory(),
        "index",
        flags,
        Mode::from_raw_mode(0o644),
    )
    .map_err(|errno| made(errno.into()))?;
    let mut file = BufWriter::new(File::from(file));
    index
        .write_to(&mut file, gix::index::write::Options::default())
        .map_err(|error| made(io::Error::other(error.to_string())))?;
    file.flush().map_err(&made)
}

/// Directories of files, and those that stand for submodules. Each comes after the one that it is in.
fn make_directories(index: &gix::index::File, tree: &Confined) -> Result<(), Error> {
    let mut directories = BTreeSet::new();
    for entry in index.entries() {
        let path = entry.path(index);
        if entry.mode == EntryMode::COMMIT {
            directories.insert(path);
        }
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        directories.extend(slashes.map(|(end, _)| BStr::new(&path[..end])));
    }
    for path in directories {
        rustix::fs::mkdirat(tree.directory(), as_path(path), Mode::from_raw_mode(0o777))
            .map_err(failed("made", &tree.path().join(as_path(path))))?;
    }
    Ok(())
}

struct Copying<'a> {
    source: &'a Confined,
    target: &'a Confined,
    sharing: Sharing,
    cancel: &'a AtomicBool,
}

impl Copying<'_> {
    /// Copies every file, and tells what the kernel says about the copies, in the order of the index.
    fn all(&self, index: &gix::index::File) -> Result<Vec<Option<Stat>>, Error> {
        let entries = index.entries();
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
        let share = entries.len().div_ceil(threads).max(1);
        let copy_share = |entries: &[gix::index::Entry]| -> Result<Vec<Option<Stat>>, Error> {
            let copy_one = |entry: &gix::index::Entry| self.one(entry.path(index), entry.mode);
            entries.iter().map(copy_one).collect()
        };
        std::thread::scope(|scope| {
            let working: Vec<_> = entries
                .chunks(share)
                .map(|entries| scope.spawn(move || copy_share(entries)))
                .collect();
            let mut stats = Vec::with_capacity(entries.len());
            for thread in working {
                let copied = thread
                    .join()
                    .map_err(|_| Error::state("a thread that copied a base panicked", "try again"))?;
                stats.extend(copied?);
            }
            Ok(stats)
        })
    }

    fn one(&self, path: &BStr, mode: EntryMode) -> Result<Option<Stat>, Error> {
        check_cancelled(self.cancel)?;
        let path = as_path(path.as_bytes());
        let copied = match mode {
            EntryMode::FILE | EntryMode::FILE_EXECUTABLE => self.file(path),
            EntryMode::SYMLINK => self.link(path),
            _ => return Ok(None),
        };
        copied
            .map(Some)
            .map_err(failed("copied", &self.target.path().join(path)))
    }

    fn file(&self, path: &Path) -> io::Result<Stat> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source = rustix::fs::openat(self.source.directory(), path, flags, Mode::empty())?;
        let from = rustix::fs::fstat(&source)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(from.st_mode & 0o777);
        let target = rustix::fs::openat(self.target.directory(), path, flags, mode)?;
        match self.sharing {
            Sharing::Blocks => rustix::fs::ioctl_ficlone(&target, &source)?,
            #[cfg(test)]
            Sharing::Nothing => drop(io::copy(
                &mut File::from(source),
                &mut File::from(target.try_clone()?),
            )?),
        }
        rustix::fs::futimens(&target, &times(&from))?;
        Ok(stat(&rustix::fs::fstat(&target)?))
    }

    fn link(&self, path: &Path) -> io::Result<Stat> {
        let (source, target) = (self.source.directory(), self.target.directory());
        let from = rustix::fs::statat(source, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let leads_to = rustix::fs::readlinkat(source, path, Vec::new())?;
        rustix::fs::symlinkat(leads_to, target, path)?;
        rustix::fs::utimensat(target, path, &times(&from), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(stat(&rustix::fs::statat(
            target,
            path,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }
}

fn times(stat: &rustix::fs::Stat) -> Timestamps {
    let modified = Timespec {
        tv_sec: stat.st_mtime,
        tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
    };
    Timestamps {
        last_access: modified,
        last_modification: modified,
    }
}

/// What git notes about a file, cut to the 32 bits that it has for each.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git cuts in the same way"
)]
fn stat(stat: &rustix::fs::Stat) -> Stat {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::tests::Fixture;

    #[test]
    fn a_copy_has_the_files_of_the_base_and_an_index_that_fits() {
        let fixture = Fixture::new();
        let base = fixture.base();
        let tree = fixture.directory("copy");
        let registration = fixture.directory("registration");
        let go_on = AtomicBool::new(false);
        copy(&base, &tree, &registration, Sharing::Nothing, &go_on).unwrap();

        let at = |path: &str| tree.path().join(path);
        assert_eq!(
            std::fs::read_to_string(at("directory/deep/file")).unwrap(),
            "deep\n"
        );
        assert_eq!(std::fs::read_link(at("link")).unwrap(), Path::new("nowhere"));
        let mode = rustix::fs::stat(at("program")).unwrap().st_mode;
        assert_eq!(mode & 0o111, 0o111);
        let index = registration.path().join("index");
        assert_eq!(fixture.hashed_by_status(tree.path(), &index), (String::new(), 0));

        // What is changed is found, although it keeps its size.
        std::fs::write(at("directory/deep/file"), "DEEP\n").unwrap();
        // Git counts in seconds, of which none may have passed.
        let file = File::options()
            .write(true)
            .open(at("directory/deep/file"))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let (changes, hashed) = fixture.hashed_by_status(tree.path(), &index);
        assert_eq!((changes.as_str(), hashed), (" M directory/deep/file\n", 1));
        assert_eq!(
            std::fs::read_to_string(base.tree().join("directory/deep/file")).unwrap(),
            "deep\n"
        );
    }

    #[test]
    fn a_cancelled_copy_ends() {
        let fixture = Fixture::new();
        let (tree, registration) = (fixture.directory("copy"), fixture.directory("registration"));
        let cancel = AtomicBool::new(true);
        let copied = copy(&fixture.base(), &tree, &registration, Sharing::Nothing, &cancel);
        assert!(matches!(copied, Err(Error::Cancelled)));
        assert!(!registration.path().join("index").exists());
    }
}
