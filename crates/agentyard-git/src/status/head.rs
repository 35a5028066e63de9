//! What is checked out, and how it relates to what it follows.

use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use gix::head::Kind;
use gix::refs::FullName;
use gix::state::InProgress;

use super::{Distance, Head, Operation, Upstream};
use crate::history::{CommitRange, History, Walk};
use crate::{Error, display_path};

/// What is checked out, and the upstream of that branch.
pub(super) fn head_and_upstream(
    local: &gix::Repository,
    cancel: &AtomicBool,
) -> Result<(Head, Option<Upstream>), Error> {
    let head = local.head().map_err(Error::read("HEAD"))?;
    let commit = head.id().map(gix::Id::detach);
    let name = match &head.kind {
        Kind::Symbolic(reference) => Some(reference.name.clone()),
        Kind::Unborn(name) => Some(name.clone()),
        Kind::Detached { .. } => None,
    };
    let branch = name.as_ref().map(|name| display_path(name.shorten()));
    let upstream = match &name {
        Some(name) => upstream(local, name, commit, cancel)?,
        None => None,
    };
    let head = Head {
        branch,
        commit: commit.map(Into::into),
    };
    Ok((head, upstream))
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
    cancel: &AtomicBool,
) -> Result<Option<Upstream>, Error> {
    let Some(tracking) = tracking_branch(local, branch) else {
        return Ok(None);
    };
    let theirs = local
        .try_find_reference(&tracking)
        .ok()
        .flatten()
        .and_then(|mut reference| reference.peel_to_id().ok().map(gix::Id::detach));
    let distance = match (commit, theirs) {
        (Some(ours), Some(theirs)) => Some(distance(local, ours, theirs, cancel)?),
        _ => None,
    };
    Ok(Some(Upstream {
        name: display_path(tracking.shorten()),
        distance,
    }))
}

/// The local name of the branch that `branch` is configured to follow.
///
/// gix answers this itself, but not for repositories whose configuration it is told not to trust.
fn tracking_branch(local: &gix::Repository, branch: &FullName) -> Option<FullName> {
    let config = local.config_snapshot();
    let name = branch.shorten();
    let remote = config.string_by("branch", Some(name), "remote")?;
    let merge = config.string_by("branch", Some(name), "merge")?;
    if remote == "." {
        return FullName::try_from(merge).ok();
    }
    config
        .strings_by("remote", Some(remote.as_bstr()), "fetch")?
        .iter()
        .find_map(|specification| mapped(specification, &merge))
        .and_then(|name| FullName::try_from(name).ok())
}

/// Where a fetch with `specification` (`+refs/heads/*:refs/remotes/origin/*`) puts the branch `name`.
fn mapped(specification: &BString, name: &BString) -> Option<BString> {
    let specification = specification.strip_prefix(b"+").unwrap_or(specification);
    let (source, destination) = specification.split_once_str(b":")?;
    let Some((before, after)) = source.split_once_str(b"*") else {
        return (source == name.as_bytes()).then(|| destination.into());
    };
    let star = name.strip_prefix(before)?.strip_suffix(after)?;
    let (before, after) = destination.split_once_str(b"*")?;
    Some([before, star, after].concat().into())
}

fn distance(
    local: &gix::Repository,
    ours: gix::ObjectId,
    theirs: gix::ObjectId,
    cancel: &AtomicBool,
) -> Result<Distance, Error> {
    if ours == theirs {
        return Ok(Distance { ahead: 0, behind: 0 });
    }
    let mut history = History::new(local)?;
    let mut count = |include, exclude| {
        let range = CommitRange {
            include: vec![include],
            exclude: vec![exclude],
            since: None,
        };
        let mut walk = Walk::new(&mut history, &range, None, cancel)?;
        let mut commits = 0;
        while walk.next()?.is_some() {
            commits += 1;
        }
        Ok(commits)
    };
    Ok(Distance {
        ahead: count(ours, theirs)?,
        behind: count(theirs, ours)?,
    })
}

#[cfg(test)]
mod tests {
    use super::mapped;

    #[test]
    fn fetch_specifications_are_applied() {
        let check = |specification: &str, name: &str, expected: Option<&str>| {
            assert_eq!(mapped(&specification.into(), &name.into()), expected.map(Into::into));
        };
        check("+refs/heads/*:refs/remotes/origin/*", "refs/heads/a/b", Some("refs/remotes/origin/a/b"));
        check("refs/heads/main:refs/remotes/o/main", "refs/heads/main", Some("refs/remotes/o/main"));
        check("refs/heads/main:refs/remotes/o/main", "refs/heads/other", None);
        check("refs/heads/x-*-y:refs/r/*", "refs/heads/x-y", None);
        check("refs/heads/main", "refs/heads/main", None);
    }
}
