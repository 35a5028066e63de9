//! What is checked out, and the commits that a state rests upon.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BString, ByteSlice as _};
use gix::head::Kind as HeadKind;

use super::capture::Also;
use super::git_files::{self, GitFiles};
use super::references;
use super::state::HeadState;
use crate::Error;

/// More parents than an operation in progress has.
const MAX_PARENTS: usize = 64;

pub(super) type Heads = (HeadState, BTreeMap<String, Option<String>>);

/// What is checked out, where the branches are that belong to it, and the commits that all rests upon.
pub(super) fn heads(
    local: &gix::Repository,
    git_files: &GitFiles,
    also: &Also,
) -> Result<(Heads, Vec<gix::ObjectId>), Error> {
    let head = local.head().map_err(Error::read("HEAD"))?;
    let commit = head.id().map(gix::Id::detach);
    let branch = match &head.kind {
        HeadKind::Symbolic(reference) => Some(reference.name.as_bstr().to_string()),
        HeadKind::Unborn(name) => Some(name.as_bstr().to_string()),
        HeadKind::Detached { .. } => None,
    };
    let names = branch.iter().chain(&also.branches).cloned();
    let mut branches = BTreeMap::new();
    let mut parents: Vec<gix::ObjectId> = commit.into_iter().collect();
    for name in names.chain(git_files::rebased_branch(git_files)) {
        let tip = references::find(local, &name)?;
        parents.extend(tip);
        branches.insert(name, tip.map(|tip| tip.to_string()));
    }
    parents.extend(git_files::commits(git_files));
    parents.extend(references::find(local, "refs/stash")?);
    let mut seen = BTreeSet::new();
    let is_commit = |id: &gix::ObjectId| {
        local
            .find_header(*id)
            .is_ok_and(|header| header.kind() == gix::objs::Kind::Commit)
    };
    parents.retain(|id| seen.insert(*id) && is_commit(id));
    parents.truncate(MAX_PARENTS);
    let commit = commit.map(|id| id.to_string());
    Ok(((HeadState { branch, commit }, branches), parents))
}

/// The tree that git notes when a merge stops.
pub(super) fn auto_merge(local: &gix::Repository, git_files: &GitFiles) -> Option<gix::ObjectId> {
    let id = git_files.get(&BString::from("AUTO_MERGE"))?;
    let id = gix::ObjectId::from_hex(id.trim()).ok()?;
    let header = local.find_header(id).ok()?;
    (header.kind() == gix::objs::Kind::Tree).then_some(id)
}
