//! The index against the last commit.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::index::entry::Flags;
use gix::index::extension;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use super::Head;
use super::tracked::{Escape, Tracked, conflict};
use crate::error::check_cancelled;
use crate::raw_commit::RawCommit;
use crate::renames::{self, File, Moves, is_regular};
use crate::{Error, ObjectId, Repository, index};

/// What is staged, in no order. Moves are pairs of new and old path.
#[derive(Clone, Default)]
pub(super) struct Changes {
    pub(super) added: Vec<BString>,
    pub(super) modified: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) renamed: Vec<(BString, BString)>,
    pub(super) copied: Vec<(BString, BString)>,
    pub(super) type_changed: Vec<BString>,
    /// There is more.
    pub(super) truncated: bool,
}

/// Beyond this many the comparison ends. A few small trees can be made to hold more files than there are
/// atoms.
const MAX_CHANGES: usize = 250_000;

/// A path at which the index differs from a commit, and what the index has there; none where nothing is.
pub(crate) type StagedFile = (BString, Option<(EntryKind, gix::ObjectId)>);

/// Compares the commit's tree with the index, and finds renames.
pub(super) fn changes(
    repository: &Repository,
    local: &gix::Repository,
    index: &gix::index::State,
    head: &Head,
    cancel: &AtomicBool,
) -> Result<Changes, Error> {
    let tree = head.commit.map(|id| tree_of(local, id)).transpose()?;
    compare(repository, local, index, tree, cancel)?.finish(cancel)
}

/// The commit's tree, and where the index differs from it: by path alone, conflicts and announced files left out.
pub(crate) fn staged_files(
    repository: &Repository,
    local: &gix::Repository,
    index: &gix::index::State,
    commit: Option<ObjectId>,
    cancel: &AtomicBool,
) -> Result<(Option<gix::ObjectId>, Vec<StagedFile>), Error> {
    let tree = commit.map(|id| tree_of(local, id)).transpose()?;
    let comparison = compare(repository, local, index, tree, cancel)?;
    if comparison.truncated {
        return Err(Error::state(
            format!("more than {MAX_CHANGES} files are staged"),
            "commit them, or unstage them with git_reset",
        ));
    }
    let gone = comparison.deleted.into_iter().map(|old| (old.path, None));
    let modified = comparison.modified.into_iter().map(|(_, new)| new);
    let there = comparison.added.into_iter().chain(modified);
    let files = gone.chain(there.map(|new| (new.path, Some((new.kind, new.id)))));
    Ok((tree, files.collect()))
}

fn tree_of(local: &gix::Repository, id: ObjectId) -> Result<gix::ObjectId, Error> {
    let object = local.find_object(gix::ObjectId::from(id));
    let object = object.map_err(Error::read(format!("commit {id}")))?;
    let commit = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id })?;
    Ok(commit.tree)
}

fn compare<'a>(
    repository: &'a Repository,
    local: &'a gix::Repository,
    index: &'a gix::index::State,
    tree: Option<gix::ObjectId>,
    cancel: &AtomicBool,
) -> Result<Comparison<'a>, Error> {
    let mut comparison = Comparison {
        repository,
        local,
        index,
        deleted: Vec::new(),
        added: Vec::new(),
        modified: Vec::new(),
        truncated: false,
        pending: vec![Pending {
            prefix: BString::default(),
            tree,
            entries: 0..index.entries().len(),
            cached: index.tree(),
        }],
    };
    while let Some(directory) = comparison.pending.pop() {
        check_cancelled(cancel)?;
        comparison.directory(directory)?;
        if comparison.modified.len() + comparison.deleted.len() + comparison.added.len() > MAX_CHANGES {
            comparison.truncated = true;
            break;
        }
    }
    Ok(comparison)
}

struct Comparison<'a> {
    repository: &'a Repository,
    local: &'a gix::Repository,
    index: &'a gix::index::State,
    deleted: Vec<File>,
    added: Vec<File>,
    /// Before and after.
    modified: Vec<(File, File)>,
    truncated: bool,
    pending: Vec<Pending<'a>>,
}

/// A directory to compare: the commit's tree against a range of the index.
struct Pending<'a> {
    /// With a slash at its end, except at the top.
    prefix: BString,
    tree: Option<gix::ObjectId>,
    entries: Range<usize>,
    /// The tree that the index takes this range for, while nothing in it changes.
    cached: Option<&'a extension::Tree>,
}

impl<'a> Comparison<'a> {
    /// Compares one directory. Where the index still vouches for the tree that the commit has, nothing below
    /// differs: the work is in proportion to what is staged, not to what there is.
    fn directory(&mut self, directory: Pending<'a>) -> Result<(), Error> {
        let Pending {
            prefix,
            tree,
            entries,
            cached,
        } = directory;
        let cached_entries = cached.and_then(|cached| cached.num_entries);
        if cached.is_some_and(|cached| tree == Some(cached.id))
            && cached_entries == u32::try_from(entries.len()).ok()
        {
            return Ok(());
        }
        let tracked = Tracked::new(self.index, prefix.len(), entries.clone())
            .map_err(|Escape| index::malformed(self.repository, "holds a path that git would not write"))?;
        let mut files_seen = vec![false; tracked.files.len()];
        let mut directories_seen = vec![false; tracked.directories.len()];
        let cached_below: HashMap<&[u8], &extension::Tree> = cached
            .iter()
            .flat_map(|cached| &cached.children)
            .map(|child| (child.name.as_slice(), child))
            .collect();

        if let Some(tree) = tree {
            let read_error = || Error::read(format!("tree {tree}"));
            let tree = self.local.find_tree(tree).map_err(read_error())?;
            for entry in TreeRefIter::from_bytes(&tree.data, self.local.object_hash()) {
                let entry = entry.map_err(read_error())?;
                let path = joined(&prefix, entry.filename);
                if entry.mode.is_tree() {
                    let at = tracked.directory(entry.filename);
                    let entries = at.map_or(entries.start..entries.start, |at| {
                        directories_seen[at] = true;
                        tracked.directories[at].entries.clone()
                    });
                    let cached = cached_below.get(entry.filename.as_bytes()).copied();
                    self.subdirectory(path, Some(entry.oid.to_owned()), entries, cached);
                    continue;
                }
                let old = File {
                    path,
                    id: entry.oid.to_owned(),
                    kind: entry.mode.kind(),
                };
                match tracked.file(entry.filename) {
                    Some(at) => {
                        files_seen[at] = true;
                        self.file(Some(old), &tracked.files[at].entries);
                    }
                    None => self.file(Some(old), &(0..0)),
                }
            }
        }
        for (file, _) in tracked.files.iter().zip(files_seen).filter(|(_, seen)| !seen) {
            self.file(None, &file.entries);
        }
        for (below, _) in tracked
            .directories
            .iter()
            .zip(directories_seen)
            .filter(|(_, seen)| !seen)
        {
            self.subdirectory(joined(&prefix, below.name), None, below.entries.clone(), None);
        }
        Ok(())
    }

    fn subdirectory(
        &mut self,
        path: BString,
        tree: Option<gix::ObjectId>,
        entries: Range<usize>,
        cached: Option<&'a extension::Tree>,
    ) {
        // A sparse index stands for a directory outside the checkout with its tree.
        if let [entry] = &self.index.entries()[entries.clone()]
            && entry.mode.is_sparse()
            && tree == Some(entry.id)
        {
            return;
        }
        let mut prefix = path;
        prefix.push(b'/');
        self.pending.push(Pending {
            prefix,
            tree,
            entries,
            cached,
        });
    }

    /// Compares one path. Conflicts are reported elsewhere, and announced files are not staged.
    fn file(&mut self, old: Option<File>, entries: &Range<usize>) {
        let group = &self.index.entries()[entries.clone()];
        if conflict(group).is_some() {
            return;
        }
        let new = group
            .first()
            .filter(|entry| !entry.flags.contains(Flags::INTENT_TO_ADD))
            .map(|entry| File {
                path: entry.path(self.index).to_owned(),
                id: entry.id,
                kind: entry
                    .mode
                    .to_tree_entry_mode()
                    .map_or(EntryKind::Blob, |mode| mode.kind()),
            });
        match (old, new) {
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some(new)) => self.modified.push((old, new)),
            (Some(old), None) => self.deleted.push(old),
            (None, Some(new)) => self.added.push(new),
            (None, None) => {}
        }
    }

    fn finish(self, cancel: &AtomicBool) -> Result<Changes, Error> {
        let mut changes = Changes {
            truncated: self.truncated,
            ..Changes::default()
        };
        let mut kept = Vec::new();
        for (old, new) in self.modified {
            if is_regular(old.kind) == is_regular(new.kind) && (is_regular(old.kind) || old.kind == new.kind)
            {
                changes.modified.push(new.path);
            } else {
                changes.type_changed.push(new.path);
            }
            kept.push(old);
        }
        let settings = renames::status_settings(self.local);
        let moves = renames::find(self.local, self.deleted, self.added, kept, settings, cancel)?;
        let Moves {
            renamed,
            copied,
            deleted,
            added,
        } = moves;
        Ok(Changes {
            renamed,
            copied,
            deleted,
            added,
            ..changes
        })
    }
}

fn joined(prefix: &BString, name: &BStr) -> BString {
    [prefix.as_bytes(), name].concat().into()
}
