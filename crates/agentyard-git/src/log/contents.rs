//! What is in the files that a log compares.

use gix::objs::tree::EntryKind;

use crate::renames::File;

/// Larger files are not compared: two of them are in memory at a time.
pub const MAX_COMPARED_FILE: u64 = 64 << 20;

/// What is in a file. None where it is too large, or cannot be read, as in a partial clone.
pub(super) fn read(local: &gix::Repository, file: &File) -> Option<Vec<u8>> {
    if file.kind == EntryKind::Commit {
        // What git shows of a submodule.
        return Some(format!("Subproject commit {}\n", file.id).into_bytes());
    }
    let size = local.find_header(file.id).ok()?.size();
    if size > MAX_COMPARED_FILE {
        return None;
    }
    Some(local.find_object(file.id).ok()?.detach().data)
}
