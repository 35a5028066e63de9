//! Files are written: whole or not at all.

mod directories;
mod unnamed;

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{AtFlags, Mode, Stat};
use rustix::io::Errno;

use self::directories::NewDirectories;
use self::unnamed::NewFile;
use super::hash::{ExpectedHash, FileHash};
use super::lookup::{Entry, Spot};
use super::place::failed;
use super::{FileTree, shown_in};
use crate::error::check_cancelled;
use crate::status::Directory;
use crate::{Error, RepositoryPath};

/// When a file may be written, and how.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Replace the file that has this content, and no other.
    pub expected: Option<ExpectedHash>,
    /// Replace a file whatever it holds. Without this and an expected hash, only new files are written.
    pub overwrite: bool,
    /// Whether it may be executed. A replaced file keeps its mode otherwise; a new one may not.
    pub executable: Option<bool>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it is in the tree, free of links.
    pub path: String,
    /// There was none before.
    pub created: bool,
    /// It held this very content, and so was left alone.
    pub unchanged: bool,
    pub size: u64,
    pub hash: FileHash,
}

/// Longer contents are better made by a command in the workspace.
pub const MAX_WRITTEN_FILE: usize = 16 << 20;

/// How new files may be used; the bits of execution are added to it.
const NEW_FILE: u32 = 0o644;

impl FileTree {
    /// Writes a file: a new one with the directories that it needs, or in the place of one.
    ///
    /// The content is on disk before the file has its name, so that nobody ever sees half of it, whatever happens. A
    /// link is followed, and the file that it leads to in the tree is replaced. A second name of a replaced file keeps
    /// the former content.
    pub fn write(
        &self,
        path: &RepositoryPath,
        content: &[u8],
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Written, Error> {
        check_length(content)?;
        match self.spot(path)? {
            Spot::Directory(_) => Err(Error::invalid(path.shown(), "it is a directory")),
            Spot::Entry(entry) => self.overwrite(&entry, content, options, cancel),
            Spot::Absent { directory, names } => {
                if let Some(expected) = &options.expected {
                    return Err(Error::state(
                        format!(
                            "{} does not exist, and was expected with hash {expected}",
                            path.shown()
                        ),
                        "leave out `expected_hash` to make it anew",
                    ));
                }
                self.create(directory, names, content, options, cancel)
            }
        }
    }

    fn overwrite(
        &self,
        entry: &Entry,
        content: &[u8],
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Written, Error> {
        let shown = self.shown_entry(entry);
        let mut file = self.open_entry(entry)?;
        let before = self.hash(&mut file, &shown, cancel)?;
        if let Some(expected) = &options.expected {
            check_expected(&shown, expected, before)?;
        } else if !options.overwrite {
            return Err(Error::state(
                format!("{shown} exists already{}", told(entry, before)),
                "read it first and give its `expected_hash`, or set `overwrite`",
            ));
        }
        let hash = FileHash::of(content);
        let mode = mode_after(entry.stat.st_mode, options.executable);
        let unchanged = before == Some(hash) && mode == entry.stat.st_mode & 0o777;
        if !unchanged {
            self.replace(entry, content, mode)?;
        }
        Ok(Written {
            path: shown,
            created: false,
            unchanged,
            size: content.len() as u64,
            hash,
        })
    }

    /// Puts a content in the place of a file, unless that has changed since it was looked up.
    pub(super) fn replace(&self, entry: &Entry, content: &[u8], mode: u32) -> Result<(), Error> {
        let shown = self.shown_entry(entry);
        let unwritten = |errno: Errno| failed("written", &shown, errno.into());
        let new = self.prepare(&entry.directory, content, mode, Some(&entry.stat), &shown)?;
        let now = rustix::fs::statat(
            entry.directory.descriptor(),
            &*entry.name,
            AtFlags::SYMLINK_NOFOLLOW,
        );
        if !now.is_ok_and(|now| is_same(&now, &entry.stat)) {
            return Err(Error::state(
                format!(
                    "{shown} was changed by somebody else while it was being written; it is left as it is now"
                ),
                "read it again",
            ));
        }
        new.replace(entry.name.as_bstr()).map_err(unwritten)?;
        rustix::fs::fsync(entry.directory.descriptor()).map_err(unwritten)
    }

    pub(super) fn create(
        &self,
        directory: Arc<Directory>,
        mut names: Vec<BString>,
        content: &[u8],
        options: &WriteOptions,
        cancel: &AtomicBool,
    ) -> Result<Written, Error> {
        check_cancelled(cancel)?;
        let name = names.pop().unwrap_or_default();
        let directories = NewDirectories::make(&self.top, directory, &names)?;
        let shown = shown_in(&self.top, directories.last(), name.as_bstr());
        let mode = mode_after(NEW_FILE, options.executable);
        let made = self
            .prepare(directories.last(), content, mode, None, &shown)
            .and_then(|new| name_new(new, name.as_bstr(), directories.last(), &shown));
        if let Err(error) = made {
            directories.undo();
            return Err(error);
        }
        Ok(Written {
            path: shown,
            created: true,
            unchanged: false,
            size: content.len() as u64,
            hash: FileHash::of(content),
        })
    }

    /// Puts a content on disk, without a name yet. It belongs to whom the file belongs that it is to replace.
    fn prepare(
        &self,
        directory: &Arc<Directory>,
        content: &[u8],
        mode: u32,
        replaced: Option<&Stat>,
        shown: &str,
    ) -> Result<NewFile, Error> {
        let new = NewFile::make(directory).map_err(|errno| failed("written", shown, errno.into()))?;
        let write = |mut file: &File| {
            file.write_all(content)?;
            if let Some(stat) = replaced {
                keep_owner(file, stat);
            }
            rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
            file.sync_all()
        };
        write(new.file()).map_err(|error| failed("written", shown, error))?;
        Ok(new)
    }
}

/// Fails when a content is longer than one call may write.
pub(super) fn check_length(content: &[u8]) -> Result<(), Error> {
    if content.len() <= MAX_WRITTEN_FILE {
        return Ok(());
    }
    let reason = format!(
        "it has {} bytes, and {MAX_WRITTEN_FILE} are allowed",
        content.len()
    );
    Err(Error::invalid("the content", reason))
}

fn name_new(new: NewFile, name: &BStr, directory: &Directory, shown: &str) -> Result<(), Error> {
    new.name(name)
        .and_then(|()| rustix::fs::fsync(directory.descriptor()))
        .map_err(|errno| match errno {
            Errno::EXIST => Error::state(
                format!("{shown} was made by somebody else meanwhile; it is left as it is"),
                "read it again",
            ),
            errno => failed("written", shown, errno.into()),
        })
}

/// Fails when a file is not the one that the caller has seen.
pub(super) fn check_expected(
    shown: &str,
    expected: &ExpectedHash,
    current: Option<FileHash>,
) -> Result<(), Error> {
    match current {
        Some(current) if expected.fits(current) => Ok(()),
        Some(current) => Err(Error::state(
            format!(
                "{shown} has changed: its hash is {current}, and {expected} was expected; nothing was written"
            ),
            "read it again, and change what it holds now",
        )),
        None => Err(Error::invalid(
            shown,
            "it is too long to be changed by these tools",
        )),
    }
}

fn told(entry: &Entry, hash: Option<FileHash>) -> String {
    let hash = hash.map(|hash| format!(", hash {hash}")).unwrap_or_default();
    format!(" ({} bytes{hash})", entry.size())
}

/// The permissions that a file gets. Whoever may read it may execute it, if anybody may.
fn mode_after(mode: u32, executable: Option<bool>) -> u32 {
    let mode = mode & 0o777;
    match executable {
        None => mode,
        Some(true) => mode | (mode & 0o444) >> 2,
        Some(false) => mode & !0o111,
    }
}

/// Only root can give files away, and only then is there anything to keep.
fn keep_owner(file: &File, stat: &Stat) {
    let owner = rustix::fs::Uid::from_raw(stat.st_uid);
    let group = rustix::fs::Gid::from_raw(stat.st_gid);
    let _ = rustix::fs::fchown(file, Some(owner), Some(group));
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    let told_by = |stat: &Stat| {
        (
            (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mode),
            (stat.st_mtime, stat.st_mtime_nsec),
            (stat.st_ctime, stat.st_ctime_nsec),
        )
    };
    told_by(one) == told_by(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_executed_by_who_may_read_it() {
        assert_eq!(mode_after(0o644, Some(true)), 0o755);
        assert_eq!(mode_after(0o100_600, Some(true)), 0o700);
        assert_eq!(mode_after(0o755, Some(false)), 0o644);
        assert_eq!(mode_after(0o104_755, None), 0o755);
    }
}
