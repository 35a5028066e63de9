//! What differs between two trees.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use crate::Error;
use crate::error::check_cancelled;
use crate::renames::{self, Detect, File};

/// What differs, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeDiff {
    pub(crate) changes: Vec<Change>,
    /// Directories that are no more, with a slash at the end.
    pub(crate) vanished: Vec<BString>,
    /// There is more.
    pub(crate) truncated: bool,
}

/// A file that differs: added when there is none before, deleted when there is none after, and renamed when the
/// paths differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: Option<File>,
    pub(crate) after: Option<File>,
}

/// Beyond this many the comparison ends. A few small trees can be made to hold more files than there are atoms.
const MAX_CHANGES: usize = 250_000;

/// Longer paths are left out; no file system would take them.
const MAX_PATH: usize = 16 * 1024;

impl Change {
    /// The path that the change is listed under.
    pub(crate) fn path(&self) -> &BStr {
        let file = self.after.as_ref().or(self.before.as_ref());
        file.map_or(BStr::new(""), |file| file.path.as_bstr())
    }
}

impl TreeDiff {
    /// Compares two trees, none standing for the empty one. `under` are the parts of a path to which the
    /// comparison is confined.
    pub(crate) fn new(
        local: &gix::Repository,
        before: Option<gix::ObjectId>,
        after: Option<gix::ObjectId>,
        under: &[BString],
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        Self::up_to(local, [before, after], under, MAX_CHANGES, cancel)
    }

    fn up_to(
        local: &gix::Repository,
        [before, after]: [Option<gix::ObjectId>; 2],
        under: &[BString],
        limit: usize,
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        let mut comparison = Comparison {
            local,
            under,
            found: Self::default(),
            pending: Vec::new(),
        };
        if before != after {
            comparison.pending.push(Pending {
                prefix: BString::default(),
                depth: 0,
                before,
                after,
            });
        }
        while let Some(directory) = comparison.pending.pop() {
            check_cancelled(cancel)?;
            comparison.directory(&directory)?;
            if comparison.found.changes.len() > limit {
                comparison.found.truncated = true;
                break;
            }
        }
        let mut found = comparison.found;
        found.sort();
        Ok(found)
    }

    /// Puts together what was deleted here and added there, as git does with `--find-renames`.
    pub(crate) fn find_renames(
        mut self,
        local: &gix::Repository,
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        let (mut deleted, mut added) = (Vec::new(), Vec::new());
        for change in &self.changes {
            match (&change.before, &change.after) {
                (Some(before), None) => deleted.push(before.clone()),
                (None, Some(after)) => added.push(after.clone()),
                _ => {}
            }
        }
        if deleted.is_empty() || added.is_empty() {
            return Ok(self);
        }
        let settings = (Detect::Renames, renames::diff_limit(local));
        let mut sources: HashMap<BString, File> = deleted
            .iter()
            .map(|file| (file.path.clone(), file.clone()))
            .collect();
        let moves = renames::find(local, deleted, added, Vec::new(), settings, cancel)?;
        let origins: HashMap<&BString, &BString> =
            moves.renamed.iter().map(|(to, from)| (to, from)).collect();
        let gone: HashSet<&BString> = origins.values().copied().collect();
        self.changes.retain(|change| {
            let is_source = change.after.is_none() && gone.contains(&change.path().to_owned());
            !is_source
        });
        for change in &mut self.changes {
            if let Change {
                before: before @ None,
                after: Some(after),
            } = change
                && let Some(&from) = origins.get(&after.path)
            {
                *before = sources.remove(from);
            }
        }
        Ok(self)
    }

    fn sort(&mut self) {
        // A file that became a directory is listed before what is in it.
        self.changes.sort_by(|one, other| one.path().cmp(other.path()));
    }
}

/// In how many paths two trees differ, when in fewer than `limit`, or as many.
pub(crate) fn differing_paths(
    local: &gix::Repository,
    [before, after]: [gix::ObjectId; 2],
    limit: usize,
    cancel: &AtomicBool,
) -> Result<Option<usize>, Error> {
    let found = TreeDiff::up_to(local, [Some(before), Some(after)], &[], limit, cancel)?;
    Ok((!found.truncated).then_some(found.changes.len()))
}

struct Comparison<'a> {
    local: &'a gix::Repository,
    under: &'a [BString],
    found: TreeDiff,
    pending: Vec<Pending>,
}

/// A directory to compare.
struct Pending {
    /// With a slash at its end, except at the top.
    prefix: BString,
    depth: usize,
    before: Option<gix::ObjectId>,
    after: Option<gix::ObjectId>,
}

/// An entry of a tree that is at hand. Most are equal on both sides, so none is copied before it is known to differ.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry<'tree> {
    name: &'tree BStr,
    id: &'tree gix::oid,
    kind: EntryKind,
}

/// The entries of a tree, in git's order.
struct Entries<'tree> {
    tree: Option<gix::ObjectId>,
    entries: TreeRefIter<'tree>,
    /// Only the one with this name.
    wanted: Option<&'tree BString>,
}

impl<'a> Comparison<'a> {
    fn directory(&mut self, directory: &Pending) -> Result<(), Error> {
        let (before, after) = (self.tree(directory.before)?, self.tree(directory.after)?);
        let wanted = self.under.get(directory.depth);
        let mut olds = Entries::of(before.as_ref(), self.local, wanted);
        let mut news = Entries::of(after.as_ref(), self.local, wanted);
        let (mut old, mut new) = (olds.next()?, news.next()?);
        loop {
            let order = match (&old, &new) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.order(new),
            };
            let (before, after) = (old.filter(|_| order.is_le()), new.filter(|_| order.is_ge()));
            if before != after {
                self.differing(directory, before, after);
            }
            if order.is_le() {
                old = olds.next()?;
            }
            if order.is_ge() {
                new = news.next()?;
            }
        }
    }

    fn tree(&self, tree: Option<gix::ObjectId>) -> Result<Option<gix::Tree<'a>>, Error> {
        let found = tree.map(|tree| {
            self.local
                .find_tree(tree)
                .map_err(|source| unreadable(tree, source))
        });
        found.transpose()
    }

    /// Notes an entry that differs. Two entries are both files, or both directories.
    fn differing(&mut self, directory: &Pending, old: Option<Entry<'_>>, new: Option<Entry<'_>>) {
        let Some(entry) = old.as_ref().or(new.as_ref()) else {
            return;
        };
        let mut path = directory.prefix.clone();
        path.extend_from_slice(entry.name);
        if path.len() > MAX_PATH {
            self.found.truncated = true;
            return;
        }
        if entry.kind == EntryKind::Tree {
            path.push(b'/');
            if new.is_none() {
                self.found.vanished.push(path.clone());
            }
            self.pending.push(Pending {
                prefix: path,
                depth: directory.depth + 1,
                before: old.map(|entry| entry.id.to_owned()),
                after: new.map(|entry| entry.id.to_owned()),
            });
            return;
        }
        // The path goes on below what is a file here.
        if directory.depth + 1 < self.under.len() {
            return;
        }
        let file = |entry: Entry<'_>| File {
            path: path.clone(),
            id: entry.id.to_owned(),
            kind: entry.kind,
        };
        self.found.changes.push(Change {
            before: old.map(file),
            after: new.map(file),
        });
    }
}

impl<'tree> Entries<'tree> {
    fn of(
        tree: Option<&'tree gix::Tree<'_>>,
        local: &gix::Repository,
        wanted: Option<&'tree BString>,
    ) -> Self {
        let data = tree.map_or(&[][..], |tree| &tree.data);
        Self {
            tree: tree.map(|tree| tree.id),
            entries: TreeRefIter::from_bytes(data, local.object_hash()),
            wanted,
        }
    }

    fn next(&mut self) -> Result<Option<Entry<'tree>>, Error> {
        for entry in self.entries.by_ref() {
            let entry = entry.map_err(|source| match self.tree {
                Some(tree) => unreadable(tree, source),
                None => Error::read("the empty tree")(source),
            })?;
            if self.wanted.is_none_or(|name| entry.filename == name) {
                return Ok(Some(Entry {
                    name: entry.filename,
                    id: entry.oid,
                    kind: entry.mode.kind(),
                }));
            }
        }
        Ok(None)
    }
}

fn unreadable(tree: gix::ObjectId, source: gix::Error) -> Error {
    Error::read(format!("tree {tree}"))(source)
}

impl Entry<'_> {
    /// The order in which git keeps entries: directories as if a slash ended their names.
    fn order(&self, other: &Self) -> Ordering {
        let ending = |entry: &Self| (entry.kind == EntryKind::Tree).then_some(b'/');
        let bytes = self.name.bytes().chain(ending(self));
        bytes.cmp(other.name.bytes().chain(ending(other)))
    }
}
