//! The history of one path.

use std::collections::HashMap;

use gix::bstr::BString;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryMode;

use crate::history::{History, Keep, Node, Simplify};
use crate::{Error, display_path};

/// Follows the commits that changed a path.
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
        if path.starts_with('/') {
            return invalid("it must be relative to the top of the repository");
        }
        if path.contains('\0') {
            return invalid("it contains a NUL character");
        }
        let components: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if components.contains(&"..") {
            return invalid("it must not contain `..`");
        }
        let filter = Self {
            local,
            components: components.into_iter().map(Into::into).collect(),
            known: HashMap::new(),
        };
        Ok((!filter.components.is_empty()).then_some(filter))
    }

    /// What the path is in a tree.
    fn entry(&mut self, tree: gix::ObjectId) -> Result<Option<(gix::ObjectId, EntryMode)>, Error> {
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
    fn keep(&mut self, history: &mut History<'_>, node: Node) -> Result<Keep, Error> {
        let commit = history.commit(node);
        let here = self.entry(commit.tree)?;
        let parents = commit.parents.clone();
        if parents.is_empty() {
            return Ok(if here.is_some() { Keep::Commit } else { Keep::Parents });
        }
        for (at, &parent) in parents.iter().enumerate() {
            let parent = history.load(parent)?;
            if self.entry(history.commit(parent).tree)? == here {
                return Ok(Keep::Parent(at));
            }
        }
        Ok(Keep::Commit)
    }
}
