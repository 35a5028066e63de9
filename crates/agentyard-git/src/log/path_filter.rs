//! The history of one path.

use std::collections::HashMap;

use gix::bstr::{BString, ByteSlice as _};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryMode;

use crate::history::{History, Keep, Node, Parent, Simplify};
use crate::{Error, display_path, text};

/// Follows the commits that changed a path.
#[derive(Clone)]
pub(super) struct PathFilter<'repo> {
    local: &'repo gix::Repository,
    components: Vec<BString>,
    /// What the path is in trees seen before; most neighbouring commits share them.
    known: HashMap<gix::ObjectId, Option<(gix::ObjectId, EntryMode)>>,
}

impl<'repo> PathFilter<'repo> {
    /// A filter for a path relative to the top of the tree; none is needed for the top itself.
    pub(super) fn new(local: &'repo gix::Repository, path: &str) -> Result<Option<Self>, Error> {
        let invalid = |reason| {
            Err(Error::InvalidPath {
                path: display_path(path.into()),
                reason,
            })
        };
        let bytes = text::parse_path(path);
        if bytes.starts_with(b"/") {
            return invalid("it must be relative to the top of the repository");
        }
        if bytes.contains(&0) {
            return invalid("it contains a NUL character");
        }
        let components = bytes.split_str(b"/").filter(|part| !matches!(*part, b"" | b"."));
        let components: Vec<BString> = components.map(Into::into).collect();
        if components.iter().any(|part| part == "..") {
            return invalid("it must not contain `..`");
        }
        let filter = Self {
            local,
            components,
            known: HashMap::new(),
        };
        Ok((!filter.components.is_empty()).then_some(filter))
    }

    /// The parts of the path.
    pub(super) fn components(&self) -> &[BString] {
        &self.components
    }

    /// Goes on with another path.
    pub(super) fn set_components(&mut self, components: Vec<BString>) {
        self.components = components;
        self.known.clear();
    }

    /// What the path is in a tree.
    pub(super) fn entry(&mut self, tree: gix::ObjectId) -> Result<Option<(gix::ObjectId, EntryMode)>, Error> {
        if let Some(entry) = self.known.get(&tree) {
            return Ok(*entry);
        }
        let mut current = tree;
        let mut found = None;
        for (depth, component) in self.components.iter().enumerate() {
            let read_error = || Error::read(format!("tree {current}"));
            let object = self.local.find_tree(current).map_err(read_error())?;
            let entries = TreeRefIter::from_bytes(&object.data, self.local.object_hash());
            found = None;
            for entry in entries {
                let entry = entry.map_err(read_error())?;
                if entry.filename == component {
                    found = Some((entry.oid.to_owned(), entry.mode));
                    break;
                }
            }
            match found {
                Some((id, mode)) if mode.is_tree() => current = id,
                Some(_) if depth + 1 == self.components.len() => {}
                _ => {
                    found = None;
                    break;
                }
            }
        }
        self.known.insert(tree, found);
        Ok(found)
    }
}

impl Simplify for PathFilter<'_> {
    /// git's default: a merge that took the path from one parent follows that one alone. A parent outside the
    /// range is not followed, and counts only where there is no other.
    fn keep(
        &mut self,
        history: &History<'_>,
        commit: Node,
        parents: &[Parent],
        any_relevant: bool,
    ) -> Result<Keep, Error> {
        let here = self.entry(history.commit(commit).tree)?;
        if parents.is_empty() {
            return Ok(if here.is_some() {
                Keep::Commit
            } else {
                Keep::Parents
            });
        }
        let (mut changed_inside, mut changed_outside) = (false, false);
        for (at, parent) in parents.iter().enumerate() {
            let is_same = self.entry(history.commit(parent.node).tree)? == here;
            match (is_same, parent.relevant) {
                (true, true) => return Ok(Keep::Parent(at)),
                (true, false) => {}
                (false, true) => changed_inside = true,
                (false, false) => changed_outside = true,
            }
        }
        let changed = if any_relevant {
            changed_inside
        } else {
            changed_outside
        };
        Ok(if changed { Keep::Commit } else { Keep::Parents })
    }
}
