//! One tracked file: what the index says about it against what is on disk.

use std::ffi::CStr;

use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::index::Entry;
use gix::index::entry::stat::Time;
use gix::index::entry::{Flags, Mode};
use rustix::fs::{FileType, Stat};

use super::content::Contents;
use super::directory::Directory;
use crate::Error;

/// How a tracked file differs from its index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Modified,
    TypeChanged,
    /// Announced, but not added yet.
    Added,
}

/// How entries are compared, as far as the repository decides that.
pub(super) struct Comparison {
    /// When the index was written, in seconds and nanoseconds.
    index_written_at: (i64, u32),
    executable_bit: bool,
    symlinks: bool,
    trust_change_time: bool,
    /// Compare more than size and time.
    full_stat: bool,
    sparse_checkout: bool,
}

impl Comparison {
    pub(super) fn new(objects: &gix::Repository, index: &gix::index::State) -> Self {
        let config = objects.config_snapshot();
        let setting = |key, default| config.boolean(key).unwrap_or(default);
        Self {
            index_written_at: (index.timestamp().unix_seconds(), index.timestamp().nanoseconds()),
            executable_bit: setting("core.fileMode", true),
            symlinks: setting("core.symlinks", true),
            trust_change_time: setting("core.trustCTime", true),
            full_stat: config
                .string("core.checkStat")
                .is_none_or(|value| !value.eq_ignore_ascii_case(b"minimal")),
            sparse_checkout: setting("core.sparseCheckout", false),
        }
    }

    /// Whether the entry's absence from the working tree goes unreported.
    pub(super) fn may_be_absent(entry: &Entry) -> bool {
        entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID) || entry.mode.is_sparse()
    }

    /// Compares an entry with a file, link or pipe of the same name. Directories are the caller's matter.
    pub(super) fn change(
        &self,
        entry: &Entry,
        path: &BStr,
        stat: &Stat,
        (directory, name): (&Directory, &CStr),
        contents: &mut Contents<'_>,
    ) -> Result<Option<Change>, Error> {
        // git takes a file that a sparse checkout left out, but that is there all the same, for an ordinary
        // one.
        let left_out = entry.flags.contains(Flags::SKIP_WORKTREE) && !self.sparse_checkout;
        if left_out || entry.flags.contains(Flags::ASSUME_VALID) || entry.mode.is_sparse() {
            return Ok(None);
        }
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            return Ok(Some(Change::Added));
        }
        let on_disk = FileType::from_raw_mode(stat.st_mode);
        match (entry.mode, on_disk) {
            (Mode::SYMLINK, FileType::Symlink) => {}
            (Mode::SYMLINK, FileType::RegularFile) if !self.symlinks => {}
            (Mode::FILE | Mode::FILE_EXECUTABLE, FileType::RegularFile) => {
                let executable = stat.st_mode & 0o100 != 0;
                if self.executable_bit && executable != (entry.mode == Mode::FILE_EXECUTABLE) {
                    return Ok(Some(Change::Modified));
                }
            }
            // Pipes, sockets and devices are files with other content, as far as git is concerned.
            (Mode::FILE | Mode::FILE_EXECUTABLE, FileType::Symlink) | (Mode::SYMLINK | Mode::COMMIT, _) => {
                return Ok(Some(Change::TypeChanged));
            }
            _ => return Ok(Some(Change::Modified)),
        }
        match self.judge(entry, stat) {
            Judgement::Same => Ok(None),
            Judgement::Different => Ok(Some(Change::Modified)),
            Judgement::Unsure => {
                let differs = if on_disk == FileType::Symlink {
                    contents.link_differs(directory, name, &entry.id)
                } else {
                    contents.file_differs(directory, name, path, &entry.id)?
                };
                Ok(differs.then_some(Change::Modified))
            }
        }
    }

    /// What can be said without reading the file.
    fn judge(&self, entry: &Entry, stat: &Stat) -> Judgement {
        // git writes a size of zero where it could not vouch for an entry, and truncates larger ones to 32
        // bits.
        let known = &entry.stat;
        let unvouched = known.size == 0 && !entry.id.is_empty_blob();
        if known.size != stat.st_size as u32 {
            return if unvouched {
                Judgement::Unsure
            } else {
                Judgement::Different
            };
        }
        let modified_at = (stat.st_mtime, stat.st_mtime_nsec as u32);
        let changed_at = (stat.st_ctime, stat.st_ctime_nsec as u32);
        let same_time = is_same(&known.mtime, modified_at);
        let same_change_time = !self.trust_change_time || is_same(&known.ctime, changed_at);
        let same_owner =
            known.ino == stat.st_ino as u32 && known.uid == stat.st_uid && known.gid == stat.st_gid;
        if unvouched || !same_time || !same_change_time || (self.full_stat && !same_owner) {
            return Judgement::Unsure;
        }
        // A file may change once more within the tick of the clock in which the index was written, and keep
        // its size and time. Where fractions of a second were recorded the tick is theirs; otherwise it is a
        // whole second.
        let racy = if known.mtime.nsecs != 0 {
            self.index_written_at <= modified_at
        } else {
            self.index_written_at.0 <= modified_at.0
        };
        if racy { Judgement::Unsure } else { Judgement::Same }
    }
}

enum Judgement {
    Same,
    Different,
    Unsure,
}

/// Whether a recorded time is that of the file. Some programs record whole seconds only.
fn is_same(known: &Time, (seconds, nanoseconds): (i64, u32)) -> bool {
    known.secs == seconds as u32 && (known.nsecs == 0 || known.nsecs == nanoseconds)
}

/// Whether patterns of the repository distinguish upper and lower case.
pub(crate) fn pattern_case(objects: &gix::Repository) -> Case {
    match objects.config_snapshot().boolean("core.ignoreCase") {
        Some(true) => Case::Fold,
        _ => Case::Sensitive,
    }
}
