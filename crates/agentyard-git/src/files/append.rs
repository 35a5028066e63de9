//! Files grow: at their end, by whole lines.

use std::io::Read as _;
use std::sync::atomic::AtomicBool;

use super::FileTree;
use super::hash::FileHash;
use super::place::failed;
use super::write::{Written, check_length};
use crate::error::check_cancelled;
use crate::{Error, RepositoryPath};

/// As long as a file may become. Each time it is written anew, so that nobody sees half of what is added.
pub const MAX_APPENDED_FILE: u64 = 50_000_000;

impl FileTree {
    /// Adds to a file, all or nothing. What is added begins on a line of its own, also where the last one had no end.
    pub fn append(&self, path: &RepositoryPath, added: &[u8], cancel: &AtomicBool) -> Result<Written, Error> {
        check_length(added)?;
        let (entry, file) = self.file(path).map_err(|error| match error {
            Error::Missing { .. } => Error::Missing {
                what: format!("{} does not exist; initialize_code_file makes it", path.shown()),
            },
            error => error,
        })?;
        let shown = self.shown_entry(&entry);
        check_room(&shown, entry.size() + added.len() as u64)?;
        let mut content = Vec::new();
        // As much as it could have grown to meanwhile without being refused.
        let read = file.take(MAX_APPENDED_FILE).read_to_end(&mut content);
        read.map_err(|error| failed("read", &shown, error))?;
        let is_unfinished = content.last().is_some_and(|last| *last != b'\n');
        if is_unfinished && !added.starts_with(b"\n") && !added.starts_with(b"\r\n") {
            content.push(b'\n');
        }
        content.extend_from_slice(added);
        let size = content.len() as u64;
        check_room(&shown, size)?;
        check_cancelled(cancel)?;
        self.replace(&entry, &content, entry.stat.st_mode & 0o777)?;
        Ok(Written {
            path: shown,
            created: false,
            unchanged: false,
            size,
            hash: FileHash::of(&content),
        })
    }
}

fn check_room(shown: &str, size: u64) -> Result<(), Error> {
    if size <= MAX_APPENDED_FILE {
        return Ok(());
    }
    Err(Error::state(
        format!("{shown} would have {size} bytes, and {MAX_APPENDED_FILE} are allowed; nothing was added"),
        "begin another file, or let code that is run write it",
    ))
}
