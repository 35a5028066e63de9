//! The history of one file under all its names.

use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;

use super::path_filter::PathFilter;
use crate::Error;
use crate::renames::{self, Detect, File};
use crate::tree_diff::{Change, TreeDiff};

/// Follows a file from newer commits to older ones, as `git log --follow` does: where it was added as a copy or under
/// another name, the search goes on for the origin.
///
/// Like git, it remembers one name at a time, whatever line of history that name belongs to.
pub(super) struct Follow<'a> {
    local: &'a gix::Repository,
    path: PathFilter<'a>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(local: &'a gix::Repository, path: PathFilter<'a>) -> Self {
        Self { local, path }
    }

    /// What happened to the file between two trees.
    pub(super) fn change(
        &mut self,
        before: Option<gix::ObjectId>,
        after: gix::ObjectId,
        cancel: &AtomicBool,
    ) -> Result<TreeDiff, Error> {
        let old = match before {
            Some(before) => self.path.entry(before)?,
            None => None,
        };
        let new = self.path.entry(after)?;
        if old == new {
            return Ok(TreeDiff::default());
        }
        let mut differences = TreeDiff::new(self.local, before, Some(after), self.path.components(), cancel)?;
        if let (
            [
                Change {
                    before: origin @ None,
                    after: Some(file),
                },
            ],
            Some(before),
        ) = (&mut differences.changes[..], before)
            && let Some(found) = self.origin(file, before, after, cancel)?
        {
            self.path
                .set_components(found.path.split_str(b"/").map(Into::into).collect());
            *origin = Some(found);
        }
        Ok(differences)
    }

    /// The file that another one was made from, if there is one.
    fn origin(
        &self,
        file: &File,
        before: gix::ObjectId,
        after: gix::ObjectId,
        cancel: &AtomicBool,
    ) -> Result<Option<File>, Error> {
        let differences = TreeDiff::new(self.local, Some(before), Some(after), &[], cancel)?;
        let deleted: Vec<File> = differences
            .changes
            .into_iter()
            .filter_map(|change| change.before.filter(|_| change.after.is_none()))
            .collect();
        let was_deleted = |file: &File| {
            deleted
                .binary_search_by(|other| other.path.cmp(&file.path))
                .is_ok()
        };
        // Like git, this takes any file for an origin, also one that did not change.
        let all = TreeDiff::new(self.local, None, Some(before), &[], cancel)?;
        let mut files: Vec<File> = all
            .changes
            .into_iter()
            .filter_map(|change| change.after)
            .collect();
        let kept: Vec<File> = files.iter().filter(|file| !was_deleted(file)).cloned().collect();
        let settings = (Detect::Copies, renames::diff_limit(self.local));
        let moves = renames::find(self.local, deleted, vec![file.clone()], kept, settings, cancel)?;
        let origin = moves.renamed.into_iter().chain(moves.copied).next();
        Ok(origin.and_then(|(_, from)| {
            let at = files.iter().position(|file| file.path == from)?;
            Some(files.swap_remove(at))
        }))
    }
}
