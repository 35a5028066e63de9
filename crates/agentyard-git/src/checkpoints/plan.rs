//! What has to change for one state of the working tree to become another. Decided from what was written down of
//! both; nothing is touched here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind;

use super::files::is_safe;
use super::recorded::Recorded;
use super::state::{State, differing};
use crate::text::parse_path;
use crate::tree_diff::TreeDiff;
use crate::{Error, display_path};

/// A path at which two states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: BString,
    pub(super) present: AtPath,
    pub(super) wanted: AtPath,
    /// It is in the present index.
    pub(super) is_tracked: bool,
}

/// What a state has at a path of the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtPath {
    Nothing,
    /// These bytes.
    Raw(Version),
    /// What git makes of these bytes when it checks them out.
    CheckedOut(Version),
    /// The directory of a submodule, whose files are its own matter.
    Submodule,
    /// Something that is not held, and left alone.
    Unknown,
}

/// A file by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) id: gix::ObjectId,
    pub(super) kind: EntryKind,
    /// Where git has no such mode.
    pub(super) permissions: Option<u32>,
}

impl AtPath {
    /// The file, if there is one.
    pub(super) fn version(self) -> Option<Version> {
        match self {
            Self::Raw(version) | Self::CheckedOut(version) => Some(version),
            Self::Nothing | Self::Submodule | Self::Unknown => None,
        }
    }
}

type Tree = Option<gix::ObjectId>;
type Entry = Option<(EntryKind, gix::ObjectId)>;

/// Where the working trees of two states differ, by path.
pub(super) fn differences(
    local: &gix::Repository,
    present: &Recorded,
    wanted: &Recorded,
    cancel: &AtomicBool,
) -> Result<Vec<Difference>, Error> {
    if present.tree == wanted.tree {
        return Ok(Vec::new());
    }
    let index = Pair::new(local, Some(present.index), Some(wanted.index), cancel)?;
    let changed = Pair::new(local, present.changed, wanted.changed, cancel)?;
    let mut paths: BTreeSet<BString> = index
        .differing
        .keys()
        .chain(changed.differing.keys())
        .cloned()
        .collect();
    let (before, after) = (&present.state, &wanted.state);
    paths.extend(differing(&before.missing, &after.missing));
    paths.extend(differing(&before.skipped, &after.skipped));
    paths.extend(differing(before.left_out.keys(), after.left_out.keys()));
    for (path, permissions) in before.permissions.iter().chain(&after.permissions) {
        let both = [&before.permissions, &after.permissions].map(|permissions_of| permissions_of.get(path));
        if both != [Some(permissions); 2] {
            paths.insert(parse_path(path));
        }
    }
    let mut differences = Vec::new();
    for path in paths.into_iter().filter(|path| is_safe(path.as_bstr())) {
        let (staged, raw) = (index.at(&path)?, changed.at(&path)?);
        let difference = Difference {
            present: at_path(before, &path, staged.0, raw.0),
            wanted: at_path(after, &path, staged.1, raw.1),
            is_tracked: staged.0.is_some(),
            path,
        };
        if difference.present != difference.wanted {
            differences.push(difference);
        }
    }
    Ok(differences)
}

fn at_path(state: &State, path: &BString, staged: Entry, raw: Entry) -> AtPath {
    let shown = display_path(path.as_bstr());
    if state.leaves_out(path.as_bstr()) {
        return AtPath::Unknown;
    }
    if let Some((kind, id)) = raw {
        let permissions = state.permissions.get(&shown).copied();
        return AtPath::Raw(Version {
            id,
            kind,
            permissions,
        });
    }
    if state.missing.contains(&shown) {
        return AtPath::Nothing;
    }
    match staged {
        None => AtPath::Nothing,
        Some((EntryKind::Commit, _)) => AtPath::Submodule,
        // What a sparse checkout leaves out is nobody's matter.
        Some(_) if state.skipped.contains(&shown) => AtPath::Unknown,
        Some((kind, id)) => AtPath::CheckedOut(Version {
            id,
            kind,
            permissions: None,
        }),
    }
}

/// Two trees, and where they differ.
struct Pair<'a> {
    local: &'a gix::Repository,
    /// What both have where they do not differ.
    same: Tree,
    differing: BTreeMap<BString, (Entry, Entry)>,
}

impl<'a> Pair<'a> {
    fn new(
        local: &'a gix::Repository,
        before: Tree,
        after: Tree,
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        let diff = TreeDiff::new(local, before, after, &[], cancel)?;
        if diff.truncated {
            return Err(Error::state(
                "the checkpoint differs in too many files from what is there",
                "check out its commit first (git_checkout), then restore it",
            ));
        }
        let mut differing = BTreeMap::new();
        for change in diff.changes {
            let entry = |file: Option<crate::renames::File>| file.map(|file| (file.kind, file.id));
            let path = change.path().to_owned();
            let (before, after) = (entry(change.before), entry(change.after));
            // A file in a directory's place is listed once for each.
            let known: &mut (Entry, Entry) = differing.entry(path).or_default();
            *known = (known.0.or(before), known.1.or(after));
        }
        Ok(Self {
            local,
            same: after,
            differing,
        })
    }

    /// What the two have at a path.
    fn at(&self, path: &BString) -> Result<(Entry, Entry), Error> {
        if let Some(pair) = self.differing.get(path) {
            return Ok(*pair);
        }
        let entry = entry_at(self.local, self.same, path.as_bstr())?;
        Ok((entry, entry))
    }
}

/// What a tree has at a path, directories aside.
fn entry_at(local: &gix::Repository, tree: Tree, path: &BStr) -> Result<Entry, Error> {
    let Some(tree) = tree else {
        return Ok(None);
    };
    let read_error = || Error::read(format!("tree {tree}"));
    let object = local.find_tree(tree).map_err(read_error())?;
    let entry = object.lookup_entry(path.split_str(b"/")).map_err(read_error())?;
    Ok(entry
        .map(|entry| (entry.mode().kind(), entry.object_id()))
        .filter(|(kind, _)| *kind != EntryKind::Tree))
}
