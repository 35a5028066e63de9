//! Where all of a repository's history begins.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use gix::objs::Kind;

use crate::Error;
use crate::error::check_cancelled;

/// The commits of all branches, remote-tracking branches and tags. What leads to no commit is left out.
pub(super) fn all(local: &gix::Repository, cancel: &AtomicBool) -> Result<Vec<gix::ObjectId>, Error> {
    let references = local.references().map_err(Error::read("the references"))?;
    let mut seen = HashSet::new();
    let mut tips = Vec::new();
    for prefix in ["refs/heads/", "refs/remotes/", "refs/tags/"] {
        let found = references
            .prefixed(prefix)
            .map_err(Error::read("the references"))?;
        for mut reference in found.flatten() {
            check_cancelled(cancel)?;
            let Ok(id) = reference.peel_to_id() else {
                continue;
            };
            let is_commit = id.header().is_ok_and(|header| header.kind() == Kind::Commit);
            if is_commit && seen.insert(id.detach()) {
                tips.push(id.detach());
            }
        }
    }
    Ok(tips)
}
