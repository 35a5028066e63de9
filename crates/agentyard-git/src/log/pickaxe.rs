//! Commits that add or remove a text.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;

use super::contents;
use crate::Error;
use crate::error::check_cancelled;
use crate::renames::File;
use crate::tree_diff::{Change, TreeDiff};

/// Finds commits after which a text occurs more often in a file, or less, than before: `git log -S`.
pub(super) struct Pickaxe<'a> {
    local: &'a gix::Repository,
    text: Vec<u8>,
    /// How often the text occurs, by content: what is new in one commit is old in the next.
    known: HashMap<gix::ObjectId, usize>,
}

/// How many contents are remembered.
const MAX_KNOWN: usize = 100_000;

impl<'a> Pickaxe<'a> {
    pub(super) fn new(local: &'a gix::Repository, text: &str) -> Self {
        Self {
            local,
            text: text.as_bytes().to_owned(),
            known: HashMap::new(),
        }
    }

    /// Whether a commit that made these differences is one.
    pub(super) fn matches(&mut self, differences: TreeDiff, cancel: &AtomicBool) -> Result<bool, Error> {
        let (mut in_deleted, mut in_added) = (false, false);
        for change in &differences.changes {
            check_cancelled(cancel)?;
            let (before, after) = self.occurrences(change);
            match (&change.before, &change.after) {
                (Some(_), Some(_)) if before != after => return Ok(true),
                (Some(_), None) => in_deleted |= before > 0,
                (None, Some(_)) => in_added |= after > 0,
                _ => {}
            }
        }
        // A file that is renamed as it is neither adds nor removes anything. To look for renames is dear, and only
        // where both sides have the text does it make a difference.
        if in_deleted != in_added {
            return Ok(true);
        }
        if !in_deleted {
            return Ok(false);
        }
        let renamed = differences.find_renames(self.local, cancel)?;
        Ok(renamed.changes.iter().any(|change| {
            let (before, after) = self.occurrences(change);
            before != after
        }))
    }

    fn occurrences(&mut self, change: &Change) -> (usize, usize) {
        let mut count = |file: &Option<File>| file.as_ref().map_or(0, |file| self.count(file));
        (count(&change.before), count(&change.after))
    }

    fn count(&mut self, file: &File) -> usize {
        if let Some(&count) = self.known.get(&file.id) {
            return count;
        }
        let content = contents::read(self.local, file).unwrap_or_default();
        let count = content.find_iter(&self.text).count();
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(file.id, count);
        count
    }
}
