//! Which references point to which commits.

use std::collections::{HashMap, HashSet};

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;
use gix::refs::Target;

use crate::commit::{Commit, Decoration, DecorationKind};
use crate::{ObjectId, display_path};

/// Fills in the references of commits. What cannot be read decorates nothing.
pub(super) fn decorate(local: &gix::Repository, commits: &mut [Commit]) {
    let mut decorations = Decorations {
        local,
        wanted: commits.iter().map(|commit| commit.id.into()).collect(),
        found: HashMap::new(),
    };
    decorations.read();
    for commit in commits {
        commit.refs = decorations.found.remove(&commit.id).unwrap_or_default();
        commit.refs.sort_unstable();
    }
}

struct Decorations<'a> {
    local: &'a gix::Repository,
    wanted: HashSet<gix::ObjectId>,
    found: HashMap<ObjectId, Vec<Decoration>>,
}

impl Decorations<'_> {
    fn read(&mut self) {
        if let Ok(id) = self.local.head_id() {
            self.add(id.detach(), DecorationKind::Head, "HEAD".to_owned());
        }
        let Ok(references) = self.local.references() else {
            return;
        };
        for (prefix, kind) in [
            ("refs/heads/", DecorationKind::Branch),
            ("refs/remotes/", DecorationKind::RemoteBranch),
            ("refs/tags/", DecorationKind::Tag),
        ] {
            for reference in references.prefixed(prefix).into_iter().flatten().flatten() {
                let full_name = reference.name().as_bstr();
                let name = full_name.strip_prefix(prefix.as_bytes()).unwrap_or(full_name);
                let name = display_path(name.as_bstr());
                if let Some(id) = self.commit_of(reference, kind) {
                    self.add(id, kind, name);
                }
            }
        }
    }

    /// The commit that a reference leads to. There can be thousands of references, so little is read: a branch is a
    /// commit, packed tags say what they stand for, and other tags are asked.
    fn commit_of(&self, mut reference: gix::Reference<'_>, kind: DecorationKind) -> Option<gix::ObjectId> {
        if let Some(peeled) = reference.inner.peeled {
            return Some(peeled);
        }
        let Target::Object(id) = reference.inner.target else {
            return reference.peel_to_id().ok().map(gix::Id::detach);
        };
        let may_be_tag = kind == DecorationKind::Tag && !self.wanted.contains(&id);
        if may_be_tag && self.local.find_header(id).ok()?.kind() == Kind::Tag {
            return reference.peel_to_id().ok().map(gix::Id::detach);
        }
        Some(id)
    }

    fn add(&mut self, id: gix::ObjectId, kind: DecorationKind, name: String) {
        if self.wanted.contains(&id) {
            self.found
                .entry(id.into())
                .or_default()
                .push(Decoration { kind, name });
        }
    }
}
