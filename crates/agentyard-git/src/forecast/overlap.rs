//! Whether two sides have anything to disagree about.

use std::ops::Bound;

use gix::bstr::{BStr, BString, ByteSlice as _};

use super::side::Side;

impl Side {
    /// Whether a merge of the two could conflict. Most pairs need not be looked at further, because a conflict
    /// needs one of these:
    ///
    /// - A path that both changed. Two versions of one file meet nowhere else, with two exceptions that have
    ///   such a path, too: who renames a file changes the old path and the new one, so the other side must
    ///   have changed one of these to be in the way.
    /// - A path that one side made a file, and below which the other added one. Had there been a directory
    ///   before, whoever made it a file would have deleted what was in it, and the other side would have
    ///   changed a path of those.
    /// - A directory that one side renamed, in which the other added a file. git takes only directories for
    ///   renamed in which nothing is left.
    ///
    /// What both changed in the same way is no conflict. If both deleted a file, though, it may be that one
    /// or both renamed it.
    pub(super) fn may_collide_with(&self, other: &Self) -> bool {
        self.meets(other)
            || self.added().any(|path| other.has_file_below(path))
            || other.added().any(|path| self.has_file_below(path))
            || self.may_have_moved_for(other)
            || other.may_have_moved_for(self)
    }

    fn meets(&self, other: &Self) -> bool {
        let (fewer, more) = if self.files.len() <= other.files.len() {
            (self, other)
        } else {
            (other, self)
        };
        fewer.files.iter().any(|(path, changed)| {
            let same_change = |theirs| {
                theirs == changed
                    && changed.before.is_some()
                    && (changed.after.is_some()
                        || !(self.renamed.contains_key(path) || other.renamed.contains_key(path)))
            };
            more.files.get(path).is_some_and(|theirs| !same_change(theirs))
        })
    }

    fn has_file_below(&self, path: &BString) -> bool {
        let mut below = path.clone();
        below.push(b'/');
        self.has_change_in(below.as_bstr())
    }

    fn has_change_in(&self, directory: &BStr) -> bool {
        let from = (Bound::Included(directory), Bound::Unbounded);
        let first = self.files.range::<BStr, _>(from).next();
        first.is_some_and(|(path, _)| path.starts_with(directory))
    }

    fn may_have_moved_for(&self, other: &Self) -> bool {
        !self.moved_directories.is_empty()
            && other
                .added()
                .any(|path| self.vanished.iter().any(|directory| path.starts_with(directory)))
    }
}
