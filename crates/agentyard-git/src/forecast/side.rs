//! What one side of a merge changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use gix::bstr::BString;
use gix::objs::tree::EntryKind;

use super::directories::MovedDirectories;
use crate::Error;
use crate::renames::{self, File};
use crate::tree_diff::TreeDiff;

/// What one side changed since the base.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// By path. A renamed file is one that is gone, and one that is new.
    pub(super) files: BTreeMap<BString, Changed>,
    /// Old paths, and the new ones.
    pub(super) renamed: BTreeMap<BString, BString>,
    /// Directories without a file left, with a slash at the end.
    pub(super) vanished: BTreeSet<BString>,
    pub(super) moved_directories: MovedDirectories,
}

/// A file before and after. Not the same; one of them may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    pub(super) id: gix::ObjectId,
}

/// A side that changed more files is not compared with others: that would take long, and tell nobody anything.
const MAX_FILES: usize = 50_000;

impl Side {
    /// Compares two trees. None when too much differs.
    pub(super) fn new(
        local: &gix::Repository,
        base: gix::ObjectId,
        tip: gix::ObjectId,
        cancel: &AtomicBool,
    ) -> Result<Option<Self>, Error> {
        let empty = gix::ObjectId::empty_tree(local.object_hash());
        let tree = |id| (id != empty).then_some(id);
        let found = TreeDiff::new(local, tree(base), tree(tip), &[], cancel)?;
        if found.truncated || found.changes.len() > MAX_FILES {
            return Ok(None);
        }
        let (mut deleted, mut added) = (Vec::new(), Vec::new());
        let mut files = BTreeMap::new();
        for change in found.changes {
            let path = change.path().to_owned();
            let changed = Changed {
                before: change.before.as_ref().map(Entry::of),
                after: change.after.as_ref().map(Entry::of),
            };
            match (change.before, change.after) {
                (Some(before), None) => deleted.push(before),
                (None, Some(after)) => added.push(after),
                _ => {}
            }
            files.insert(path, changed);
        }
        let mut renamed = BTreeMap::new();
        if !deleted.is_empty() && !added.is_empty() {
            let settings = renames::merge_settings(local);
            let moves = renames::find(local, deleted, added, Vec::new(), settings, cancel)?;
            renamed.extend(moves.renamed.into_iter().map(|(to, from)| (from, to)));
        }
        let vanished = found.vanished.into_iter().collect();
        Ok(Some(Self {
            moved_directories: MovedDirectories::new(&renamed, &vanished),
            files,
            renamed,
            vanished,
        }))
    }

    /// Paths that did not exist before.
    pub(super) fn added(&self) -> impl Iterator<Item = &BString> {
        let is_new = |changed: &Changed| changed.before.is_none();
        self.files
            .iter()
            .filter_map(move |(path, changed)| is_new(changed).then_some(path))
    }

    /// What a path leads to on this side, when it led to `base` before.
    pub(super) fn entry(&self, path: &BString, base: Option<Entry>) -> Option<Entry> {
        self.files.get(path).map_or(base, |changed| changed.after)
    }
}

impl Entry {
    fn of(file: &File) -> Self {
        Self {
            kind: file.kind,
            id: file.id,
        }
    }

    /// Whether both are files, links, or submodules; an executable is a file.
    pub(super) fn is_like(self, other: Self) -> bool {
        let what = |kind| match kind {
            EntryKind::BlobExecutable => EntryKind::Blob,
            kind => kind,
        };
        what(self.kind) == what(other.kind)
    }
}
