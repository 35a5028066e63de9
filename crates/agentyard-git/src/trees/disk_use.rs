//! What a view takes on disk.

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::Trees;
use super::layout::{check_name, open_root};
use crate::Error;
use crate::descriptor::open_child_directory;

/// So many entries are counted at most; the rest of a larger tree is left out.
const MAX_ENTRIES: usize = 2_000_000;

/// So deep are directories looked into.
const MAX_DEPTH: usize = 400;

/// The unit in which the kernel counts.
const BLOCK: u64 = 512;

impl Trees {
    /// The bytes on disk that are a view's alone: what it shares with its base does not count, as far as that can be
    /// told.
    pub fn disk_use(&self, key: &str, name: &str) -> Result<u64, Error> {
        check_name("repository", key)?;
        check_name("workspace", name)?;
        let layers = self.layers_path(key, name);
        let files = if layers.is_dir() {
            layers
        } else {
            self.view_path(key, name)
        };
        let registration = self.registration(&self.open_mirror(key)?, name)?;
        let mut count = Count::default();
        for directory in [&open_root(&files)?, &registration] {
            match open_child_directory(directory.directory(), b".") {
                Ok(top) => count.add(top, 0),
                Err(errno) => {
                    return Err(Error::ReadFile {
                        path: directory.shown(),
                        source: errno.into(),
                    });
                }
            }
        }
        Ok(count.blocks * BLOCK)
    }
}

#[derive(Default)]
struct Count {
    blocks: u64,
    entries: usize,
    /// Files with several names, which are counted once.
    seen: HashSet<u64>,
}

impl Count {
    /// What is removed or closed to us meanwhile is passed over.
    fn add(&mut self, directory: OwnedFd, depth: usize) {
        let Ok(listing) = Dir::read_from(&directory) else {
            return;
        };
        for entry in listing.flatten() {
            let name = entry.file_name();
            if name.to_bytes() == b".." {
                continue;
            }
            let stat = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(_) => return,
            };
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind == FileType::Directory {
                if name.to_bytes() == b"." {
                    self.blocks += u64::try_from(stat.st_blocks).unwrap_or_default();
                } else if depth < MAX_DEPTH
                    && let Ok(child) = open_child_directory(&directory, name.to_bytes())
                {
                    self.add(child, depth + 1);
                }
            } else if stat.st_nlink == 1
                || !is_shared_index(depth, name.to_bytes()) && self.seen.insert(stat.st_ino)
            {
                self.blocks += u64::try_from(stat.st_blocks).unwrap_or_default();
            }
        }
    }
}

/// An index with several names is the base's.
fn is_shared_index(depth: usize, name: &[u8]) -> bool {
    depth == 0 && name == b"index"
}
