//! Whether a file or directory is still what it was.

use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Stat};

use crate::descriptor::as_path;

/// What the kernel says of a file or directory without reading it. Adding, removing and renaming entries
/// changes that of their directory, and nobody can set the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    kind: FileType,
    device: u64,
    inode: u64,
    pub(super) size: i64,
    modified_at: Duration,
    changed_at: Duration,
}

/// The kernel's clock for files moves in steps of up to ten milliseconds. Within one, a second change cannot be
/// told from the first.
const CLOCK_STEP: Duration = Duration::from_millis(50);

impl Stamp {
    /// Of a directory entry; none when there is none, or none that we may look at.
    pub(super) fn of(directory: impl AsFd, name: &[u8]) -> Option<Self> {
        let stat = if name.is_empty() {
            rustix::fs::fstat(directory)
        } else {
            rustix::fs::statat(directory, as_path(name), AtFlags::SYMLINK_NOFOLLOW)
        };
        stat.ok().map(|stat| Self::from(&stat))
    }

    /// Whether what was read after `time` is still there as long as the stamp is the same.
    pub(super) fn is_settled_at(&self, time: SystemTime) -> bool {
        let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.changed_at + CLOCK_STEP < time
    }
}

impl From<&Stat> for Stamp {
    fn from(stat: &Stat) -> Self {
        let time = |seconds: i64, nanoseconds: u64| {
            Duration::from_secs(seconds.unsigned_abs()) + Duration::from_nanos(nanoseconds)
        };
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified_at: time(stat.st_mtime, stat.st_mtime_nsec),
            changed_at: time(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_just_now_may_change_again_unseen() {
        let directory = tempfile::tempdir().unwrap();
        let before = SystemTime::now();
        let file = std::fs::File::create(directory.path().join("file")).unwrap();
        let stamp = Stamp::of(&file, b"").unwrap();
        assert!(!stamp.is_settled_at(before));
        assert!(!stamp.is_settled_at(before + CLOCK_STEP / 2));
        assert!(stamp.is_settled_at(SystemTime::now() + 2 * CLOCK_STEP));
    }
}
