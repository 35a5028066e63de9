//! What is in the files that a log compares.

use gix::objs::tree::EntryKind;

use crate::renames::File;

/// Reads files, as many and as large as one answer may cost.
pub(super) struct Contents<'a> {
    local: &'a gix::Repository,
    bytes_left: u64,
}

/// Larger files are not compared.
const MAX_FILE: u64 = 32 << 20;

/// How much is read for one answer.
const MAX_TOTAL: u64 = 2 << 30;

impl<'a> Contents<'a> {
    pub(super) fn new(local: &'a gix::Repository) -> Self {
        Self {
            local,
            bytes_left: MAX_TOTAL,
        }
    }

    /// None where the file is too large, or cannot be read, as in a partial clone.
    pub(super) fn read(&mut self, file: &File) -> Option<Vec<u8>> {
        if file.kind == EntryKind::Commit {
            // What git shows of a submodule.
            return Some(format!("Subproject commit {}\n", file.id).into_bytes());
        }
        let size = self.local.find_header(file.id).ok()?.size();
        if size > MAX_FILE {
            return None;
        }
        self.bytes_left = self.bytes_left.checked_sub(size)?;
        Some(self.local.find_object(file.id).ok()?.detach().data)
    }
}
