//! What is asked about branches before they are changed.

use std::collections::HashSet;

use gix::refs::FullName;

use crate::history::{History, distance, merged_into};
use crate::upstream::tracking_branch;
use crate::worktrees::checked_out_elsewhere;
use crate::{BranchName, Error, ObjectId, Revision, Work};

impl Work<'_> {
    /// Where a reference points, by its full name; none when it does not exist.
    pub(crate) fn tip(&self, reference: &str) -> Result<Option<ObjectId>, Error> {
        let local = self.repository().local();
        let found = local
            .try_find_reference(reference)
            .map_err(Error::read("the references"))?;
        Ok(found.and_then(|mut found| Some(found.peel_to_id().ok()?.detach().into())))
    }

    /// Fails for a branch whose history is protected.
    pub(crate) fn refuse_protected(&self, name: &BranchName, done: &str) -> Result<(), Error> {
        if !self.protects(Some(name.as_str())) {
            return Ok(());
        }
        Err(Error::refused(
            format!("the branch `{name}` is protected, and is not {done} here"),
            "work on another branch; which branches are protected is set where Agentyard is started \
             (`git.protected_branches`)",
        ))
    }

    /// Fails for a branch that some working tree has checked out.
    pub(crate) fn refuse_checked_out(&self, name: &BranchName) -> Result<(), Error> {
        if self.repository().head()?.branch.as_deref() == Some(name.as_str()) {
            return Err(Error::state(
                format!("the branch `{name}` is checked out here"),
                "check out another branch first (git_checkout)",
            ));
        }
        let full = name.reference();
        let elsewhere = checked_out_elsewhere(self.repository(), self.cancel())?;
        match elsewhere
            .iter()
            .find(|(branch, _)| branch.as_bstr() == full.as_str())
        {
            None => Ok(()),
            Some((_, place)) => Err(Error::state(
                format!(
                    "the branch `{name}` is checked out in {}",
                    place.path().unwrap_or("a working tree outside the roots")
                ),
                "check out another branch there, or remove that working tree (git_worktree)",
            )),
        }
    }

    /// The remote-tracking branch that a revision names, the way git looks for it: tags and branches of this
    /// repository come first.
    pub(crate) fn remote_branch(&self, revision: &Revision) -> Result<Option<FullName>, Error> {
        let text = revision.as_str();
        let short = text
            .strip_prefix("refs/remotes/")
            .or_else(|| text.strip_prefix("remotes/"));
        if short.is_none() {
            for earlier in [format!("refs/tags/{text}"), format!("refs/heads/{text}")] {
                if FullName::try_from(earlier.as_str()).is_err() || self.tip(&earlier)?.is_some() {
                    return Ok(None);
                }
            }
        }
        let full = format!("refs/remotes/{}", short.unwrap_or(text));
        let Ok(name) = FullName::try_from(full.as_str()) else {
            return Ok(None);
        };
        Ok(self.tip(&full)?.map(|_| name))
    }

    pub(super) fn or_current(&self, name: Option<&BranchName>) -> Result<BranchName, Error> {
        match (name, self.repository().head()?.branch) {
            (Some(name), current) => {
                if self.tip(&name.reference())?.is_none() && current.as_deref() != Some(name.as_str()) {
                    return Err(Error::Missing {
                        what: format!(
                            "there is no branch `{name}`; git_branch with mode `list` names those there are"
                        ),
                    });
                }
                Ok(name.clone())
            }
            (None, Some(current)) => BranchName::new(current),
            (None, None) => Err(Error::state(
                "no branch is checked out: HEAD is detached",
                "name the branch that is meant",
            )),
        }
    }

    pub(super) fn existing_or_current(&self, name: Option<&BranchName>) -> Result<BranchName, Error> {
        let name = self.or_current(name)?;
        if self.tip(&name.reference())?.is_none() {
            return Err(Error::state(
                format!("the branch `{name}` has no commit yet, and cannot follow another"),
                "make its first commit (git_commit)",
            ));
        }
        Ok(name)
    }

    /// How many commits of a branch are neither in HEAD nor in its upstream.
    pub(super) fn unmerged(&self, name: &BranchName, tip: ObjectId) -> Result<usize, Error> {
        let local = self.repository().local();
        let tip: gix::ObjectId = tip.into();
        let full = FullName::try_from(name.reference())
            .map_err(|_| Error::invalid(format!("the branch name `{name}`"), "git does not allow it"))?;
        let upstream = match tracking_branch(&local, full.as_ref()) {
            Some(upstream) => self.tip(&upstream.as_bstr().to_string())?,
            None => None,
        };
        let head = self.head()?;
        let mut unmerged = None;
        for base in [head, upstream].into_iter().flatten() {
            let mut history = History::new(&local)?;
            if !merged_into(&mut history, base.into(), &HashSet::from([tip]), self.cancel())?.is_empty() {
                return Ok(0);
            }
            if unmerged.is_none() {
                let mut history = History::new(&local)?;
                unmerged = Some(distance(&mut history, tip, base.into(), self.cancel())?.ahead);
            }
        }
        Ok(unmerged.unwrap_or(1))
    }
}
