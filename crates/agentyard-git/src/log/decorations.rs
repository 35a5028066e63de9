//! Which references point to which commits.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;
use gix::refs::Target;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::commit::{Commit, Decoration, DecorationKind};
use crate::descriptor::{as_path, open_child_file};
use crate::{ObjectId, Repository, display_path};

/// Fills in the references of commits. What cannot be read decorates nothing.
pub(super) fn decorate(repository: &Repository, local: &gix::Repository, commits: &mut [Commit]) {
    let mut decorations = Decorations {
        repository,
        local,
        packs_are_peeled: packs_are_peeled(repository),
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
    repository: &'a Repository,
    local: &'a gix::Repository,
    /// Packed references say what they stand for, if that is not themselves.
    packs_are_peeled: bool,
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
    /// commit, packed tags say what they stand for, and only other tags are looked at.
    fn commit_of(&self, mut reference: gix::Reference<'_>, kind: DecorationKind) -> Option<gix::ObjectId> {
        if let Some(peeled) = reference.inner.peeled {
            return Some(peeled);
        }
        let Target::Object(id) = reference.inner.target else {
            return reference.peel_to_id().ok().map(gix::Id::detach);
        };
        let may_be_tag = kind == DecorationKind::Tag
            && !self.wanted.contains(&id)
            && !(self.packs_are_peeled && self.is_packed(&reference));
        if may_be_tag && self.local.find_header(id).ok()?.kind() == Kind::Tag {
            return reference.peel_to_id().ok().map(gix::Id::detach);
        }
        Some(id)
    }

    fn is_packed(&self, reference: &gix::Reference<'_>) -> bool {
        let path = as_path(reference.name().as_bstr());
        let common_dir = self.repository.confined_common_dir().directory();
        let loose = rustix::fs::statat(common_dir, path, AtFlags::SYMLINK_NOFOLLOW);
        loose.is_err_and(|errno| errno == Errno::NOENT)
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

fn packs_are_peeled(repository: &Repository) -> bool {
    let mut header = Vec::new();
    let packed_refs = open_child_file(repository.confined_common_dir().directory(), b"packed-refs");
    let Ok(Some(file)) = packed_refs else {
        return false;
    };
    _ = file.take(256).read_to_end(&mut header);
    let first_line = header.lines().next().unwrap_or_default();
    first_line.starts_with(b"# pack-refs with:") && first_line.contains_str(b" fully-peeled ")
}
