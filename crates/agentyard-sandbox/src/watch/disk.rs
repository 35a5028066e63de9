//! How much a command has written.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstatvfs, openat, statat};
use rustix::process::Pid;
use tokio::task::JoinHandle;

use super::memory::tree;

/// The unit in which the kernel counts blocks.
const BLOCK_BYTES: u64 = 512;

/// What a file takes at least, though it holds nothing: a file system has only so many.
const FILE_BYTES: u64 = 4096;

/// How deep directories are looked into. What lies deeper is not counted, so nothing may: it counts as more than anybody
/// may have.
const MAX_DEPTH: usize = 256;

/// Directories that a command may write to.
#[derive(Debug)]
pub(super) struct Disk {
    writable: Arc<Vec<OwnedFd>>,
    /// How much was free on the file system of each, in the beginning.
    free: Vec<[u64; 2]>,
    began: Moment,
}

/// Seconds and nanoseconds. What lies below a view may have been written just before it was shown.
type Moment = (i64, u64);

impl Disk {
    pub(super) fn new(writable: Vec<OwnedFd>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            free: writable.iter().map(free).collect(),
            writable: Arc::new(writable),
            began: (
                i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
                u64::from(now.subsec_nanos()),
            ),
        }
    }

    /// Whether so much less is free now that it is worth to find out who has taken it. Costs next to nothing.
    pub(super) fn may_have_taken(&self, bytes: u64) -> bool {
        let mut pairs = self.writable.iter().zip(&self.free);
        pairs.any(|(directory, before)| {
            let mut taken = before.iter().zip(free(directory));
            taken.any(|(before, now)| before.saturating_sub(now) > bytes)
        })
    }

    /// Finds out how much was written since the beginning, in a thread of its own.
    pub(super) fn measure(&self, root: Pid) -> Option<JoinHandle<u64>> {
        let writable = Arc::clone(&self.writable);
        let began = self.began;
        let handle = tokio::runtime::Handle::try_current().ok()?;
        Some(handle.spawn_blocking(move || {
            let mut walk = Walk::new(began, usize::MAX);
            let kept = walk.bytes_in_all(&writable);
            kept.saturating_add(deleted_bytes(root, &mut walk.seen))
        }))
    }
}

/// How many bytes on disk directories hold, as far as so many entries tell.
pub(crate) fn held_bytes(directories: &[OwnedFd], most: usize) -> u64 {
    Walk::new((i64::MIN, 0), most).bytes_in_all(directories)
}

fn open_directory(parent: &OwnedFd, name: &CStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).ok()
}

/// What is free where a directory is: bytes, and what files take that hold none.
fn free(directory: &OwnedFd) -> [u64; 2] {
    fstatvfs(directory).map_or([0; 2], |found| {
        [
            found.f_bfree.saturating_mul(found.f_frsize),
            found.f_ffree.saturating_mul(FILE_BYTES),
        ]
    })
}

type Seen = HashSet<(u64, u64)>;

/// A walk over directories. Links are not followed, nothing is opened but directories.
struct Walk {
    /// What was not changed since does not count.
    since: Moment,
    /// What was counted already.
    seen: Seen,
    /// How many entries may still be looked at.
    left: usize,
}

impl Walk {
    fn new(since: Moment, most: usize) -> Self {
        Self {
            since,
            seen: Seen::new(),
            left: most,
        }
    }

    /// The size of all files in some directories.
    fn bytes_in_all(&mut self, directories: &[OwnedFd]) -> u64 {
        // A view over layers is a descriptor that can only be opened anew, and not read.
        let opened = directories
            .iter()
            .filter_map(|directory| open_directory(directory, c"."));
        opened
            .map(|directory| self.bytes_below(&directory, 0))
            .fold(0, u64::saturating_add)
    }

    /// The size of all files below a directory. What is nested too deep to be looked at is taken for too much.
    fn bytes_below(&mut self, directory: &OwnedFd, depth: usize) -> u64 {
        let Ok(entries) = Dir::read_from(directory) else {
            return 0;
        };
        let mut sum = 0_u64;
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let Ok(found) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_new = (found.st_ctime, found.st_ctime_nsec) >= self.since;
            if is_new && self.seen.insert((found.st_dev, found.st_ino)) {
                let held = (found.st_blocks.unsigned_abs() * BLOCK_BYTES).max(FILE_BYTES);
                sum = sum.saturating_add(held);
            }
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                if depth == MAX_DEPTH {
                    return u64::MAX;
                }
                if let Some(below) = open_directory(directory, name) {
                    sum = sum.saturating_add(self.bytes_below(&below, depth + 1));
                }
            }
        }
        sum
    }
}

/// The size of all files that have no name any more and are kept open.
fn deleted_bytes(root: Pid, seen: &mut Seen) -> u64 {
    let mut sum = 0;
    for pid in tree(root.as_raw_nonzero().get()) {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        for descriptor in open {
            let Ok(found) = fs::metadata(descriptor.path()) else {
                continue;
            };
            let is_deleted = found.is_file() && found.nlink() == 0;
            if is_deleted && seen.insert((found.dev(), found.ino())) {
                sum += found.blocks() * BLOCK_BYTES;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_new_is_counted_once_and_what_is_old_is_not() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("file"), vec![1; 1 << 20]).unwrap();
        fs::hard_link(below.join("file"), place.path().join("again")).unwrap();
        std::os::unix::fs::symlink("/usr", place.path().join("elsewhere")).unwrap();
        let directory: OwnedFd = fs::File::open(place.path()).unwrap().into();
        let measure = |seconds| Walk::new((seconds, 0), usize::MAX).bytes_below(&directory, 0);
        let size = measure(0);
        assert!((1 << 20..2 << 20).contains(&size), "{size}");
        for number in 0..1000 {
            fs::write(place.path().join(number.to_string()), "").unwrap();
        }
        assert!(
            measure(0) >= size + 1000 * FILE_BYTES,
            "what holds nothing counts, too"
        );
        assert_eq!(measure(i64::MAX), 0);
        let unread = rustix::fs::open(place.path(), OFlags::PATH, Mode::empty()).unwrap();
        assert_eq!(held_bytes(&[unread], usize::MAX), measure(0));
    }

    #[test]
    fn nothing_is_hidden_in_the_depth() {
        let place = tempfile::tempdir().unwrap();
        let directory: OwnedFd = fs::File::open(place.path()).unwrap().into();
        let mut path = place.path().to_owned();
        for _ in 0..=MAX_DEPTH {
            path.push("d");
            fs::create_dir(&path).unwrap();
        }
        assert_eq!(held_bytes(&[directory], usize::MAX), u64::MAX);
    }

    #[test]
    fn no_more_entries_are_looked_at_than_was_said() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("below");
        fs::create_dir(&below).unwrap();
        for name in 0..10 {
            fs::write(below.join(name.to_string()), vec![1; 1 << 20]).unwrap();
        }
        let directory: OwnedFd = fs::File::open(place.path()).unwrap().into();
        let held = |most| held_bytes(std::slice::from_ref(&directory), most) >> 20;
        assert_eq!([0, 1, 4, 11, 100].map(held), [0, 0, 3, 10, 10]);
    }

    #[test]
    fn what_was_deleted_but_is_open_counts() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        assert!(deleted_bytes(rustix::process::getpid(), &mut Seen::new()) >= 1 << 20);
    }
}
