//! What is checked out, and how it relates to what it follows.

use std::sync::atomic::AtomicBool;

use gix::head::Kind;
use gix::refs::FullName;
use gix::state::InProgress;

use super::{Distance, Head, Operation, Upstream};
use crate::history::{History, distance};
use crate::upstream::tracking_branch;
use crate::{Error, display_path};

/// How far two commits are apart, of those asked about last. Commits do not change; only a shallow history
/// grows or shrinks at its far end.
#[derive(Default)]
pub(super) struct LastDistance(Option<((gix::ObjectId, gix::ObjectId), Distance)>);

/// What is checked out, and the upstream of that branch.
pub(super) fn head_and_upstream(
    local: &gix::Repository,
    last: &mut LastDistance,
    cancel: &AtomicBool,
) -> Result<(Head, Option<Upstream>), Error> {
    let (head, name) = named_head(local)?;
    let upstream = match &name {
        Some(name) => upstream(local, name, head.commit.map(Into::into), last, cancel)?,
        None => None,
    };
    Ok((head, upstream))
}

/// What is checked out.
pub(super) fn head(local: &gix::Repository) -> Result<Head, Error> {
    named_head(local).map(|(head, _)| head)
}

fn named_head(local: &gix::Repository) -> Result<(Head, Option<FullName>), Error> {
    let head = local.head().map_err(Error::read("HEAD"))?;
    let commit = head.id().map(gix::Id::detach);
    let name = match &head.kind {
        Kind::Symbolic(reference) => Some(reference.name.clone()),
        Kind::Unborn(name) => Some(name.clone()),
        Kind::Detached { .. } => None,
    };
    let head = Head {
        branch: name.as_ref().map(|name| display_path(name.shorten())),
        commit: commit.map(Into::into),
    };
    Ok((head, name))
}

/// The operation in progress.
pub(super) fn operation(local: &gix::Repository) -> Option<Operation> {
    Some(match local.state()? {
        InProgress::Merge => Operation::Merge,
        InProgress::Rebase | InProgress::RebaseInteractive => Operation::Rebase,
        InProgress::CherryPick | InProgress::CherryPickSequence => Operation::CherryPick,
        InProgress::Revert | InProgress::RevertSequence => Operation::Revert,
        InProgress::Bisect => Operation::Bisect,
        InProgress::ApplyMailbox | InProgress::ApplyMailboxRebase => Operation::ApplyMailbox,
    })
}

fn upstream(
    local: &gix::Repository,
    branch: &FullName,
    commit: Option<gix::ObjectId>,
    last: &mut LastDistance,
    cancel: &AtomicBool,
) -> Result<Option<Upstream>, Error> {
    let Some(tracking) = tracking_branch(local, branch.as_ref()) else {
        return Ok(None);
    };
    let theirs = local
        .try_find_reference(&tracking)
        .ok()
        .flatten()
        .and_then(|mut reference| reference.peel_to_id().ok().map(gix::Id::detach));
    let distance = match (commit, theirs) {
        (Some(ours), Some(theirs)) => Some(last.get(local, ours, theirs, cancel)?),
        _ => None,
    };
    Ok(Some(Upstream {
        name: display_path(tracking.shorten()),
        distance,
    }))
}

impl LastDistance {
    fn get(
        &mut self,
        local: &gix::Repository,
        ours: gix::ObjectId,
        theirs: gix::ObjectId,
        cancel: &AtomicBool,
    ) -> Result<Distance, Error> {
        let is_shallow = local.is_shallow().unwrap_or(true);
        match self.0 {
            Some((pair, distance)) if pair == (ours, theirs) && !is_shallow => Ok(distance),
            _ => {
                let distance = distance(&mut History::new(local)?, ours, theirs, cancel)?;
                self.0 = (!is_shallow).then_some(((ours, theirs), distance));
                Ok(distance)
            }
        }
    }
}
