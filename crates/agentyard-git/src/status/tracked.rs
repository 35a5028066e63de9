//! The index entries of one directory.

use std::cmp::Ordering;
use std::ops::Range;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::Entry;

use super::Conflict;

/// What the index knows in one directory, in its order.
pub(super) struct Tracked<'index> {
    pub(super) files: Vec<File<'index>>,
    pub(super) directories: Vec<Subdirectory<'index>>,
}

/// A path of the index: one entry, or up to three that conflict.
pub(super) struct File<'index> {
    pub(super) name: &'index BStr,
    pub(super) entries: Range<usize>,
}

/// A directory with at least one tracked file below it.
pub(super) struct Subdirectory<'index> {
    pub(super) name: &'index BStr,
    pub(super) entries: Range<usize>,
}

/// An entry's path is not one that git writes: it would lead out of its directory, or into `.git`.
pub(super) struct Escape;

impl<'index> Tracked<'index> {
    /// Splits a range of the index, all of it below a directory whose path has `prefix_length` bytes.
    ///
    /// The index is not trusted to be sorted, only to be read: wrong order gives wrong answers, never a path
    /// outside.
    pub(super) fn new(
        index: &'index gix::index::State,
        prefix_length: usize,
        range: Range<usize>,
    ) -> Result<Self, Escape> {
        let entries = index.entries();
        let mut tracked = Self {
            files: Vec::new(),
            directories: Vec::new(),
        };
        let mut at = range.start;
        while at < range.end {
            let path = entries[at].path(index);
            let rest = path.get(prefix_length..).ok_or(Escape)?;
            let slash = rest.find_byte(b'/');
            let name = rest[..slash.unwrap_or(rest.len())].as_bstr();
            if matches!(name.as_bytes(), b"" | b"." | b".." | b".git") {
                return Err(Escape);
            }
            let shared = &path[..prefix_length + slash.map_or(rest.len(), |slash| slash + 1)];
            let belongs = |entry: &Entry| match slash {
                Some(_) => entry.path(index).starts_with(shared),
                None => entry.path(index) == shared,
            };
            let end = (at + 1) + entries[at + 1..range.end].partition_point(belongs);
            if slash.is_some() {
                tracked.directories.push(Subdirectory {
                    name,
                    entries: at..end,
                });
            } else {
                tracked.files.push(File {
                    name,
                    entries: at..end,
                });
            }
            at = end;
        }
        Ok(tracked)
    }

    pub(super) fn file(&self, name: &[u8]) -> Option<usize> {
        self.files
            .binary_search_by(|file| file.name.as_bytes().cmp(name))
            .ok()
    }

    pub(super) fn directory(&self, name: &[u8]) -> Option<usize> {
        self.directories
            .binary_search_by(|directory| compare_with_slash(directory.name, name))
            .ok()
    }
}

/// The entries below a directory, given its prefix. The index must be sorted.
pub(super) fn entries_below(index: &gix::index::State, prefix: &BStr) -> Range<usize> {
    let entries = index.entries();
    let start = entries.partition_point(|entry| entry.path(index) < prefix);
    let count = entries[start..].partition_point(|entry| entry.path(index).starts_with(prefix));
    start..start + count
}

/// What kind of conflict the entries of one path make; none when they make none.
pub(crate) fn conflict(entries: &[Entry]) -> Option<Conflict> {
    let stages = entries
        .iter()
        .fold(0, |stages, entry| stages | 1 << entry.stage_raw());
    match stages >> 1 {
        0b000 => None,
        0b001 => Some(Conflict::BothDeleted),
        0b010 => Some(Conflict::AddedByUs),
        0b011 => Some(Conflict::DeletedByThem),
        0b100 => Some(Conflict::AddedByThem),
        0b101 => Some(Conflict::DeletedByUs),
        0b110 => Some(Conflict::BothAdded),
        _ => Some(Conflict::BothModified),
    }
}

/// The index sorts a directory by its name and a slash.
fn compare_with_slash(one: &[u8], other: &[u8]) -> Ordering {
    one.iter().chain(b"/").cmp(other.iter().chain(b"/"))
}
