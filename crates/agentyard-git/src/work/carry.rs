//! Bringing a branch up to date under work that is not committed yet.

use crate::work::merge::MergeOptions;
use crate::{Error, Integrated, Integration, IntegrationResult, ObjectId, Work};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// What came of the commits.
    pub integrated: Integrated,
    /// Whether there was work that is not committed, and it is there again.
    pub carried: bool,
    /// Files of it with which the new commits conflict. When there are any, it is not there again, and who called
    /// goes back to what they had before.
    pub conflicts: Vec<String>,
}

impl Work<'_> {
    /// As [`Work::integrate_or_restore`], for a working tree with changes, which are put on top again: staged ones
    /// staged, others not, untracked files untracked.
    ///
    /// Stashes would do so too, but all working trees of a repository share them.
    ///
    /// While this runs, the changes are not in the working tree; who may be killed keeps them elsewhere.
    pub fn integrate_carrying(&self, upstream: &ObjectId, how: Integration) -> Result<Carried, Error> {
        let Some(changes) = self.changes("carried", &[])? else {
            return Ok(Carried {
                integrated: self.integrate_or_restore(upstream, how)?,
                carried: false,
                conflicts: Vec::new(),
            });
        };
        let before = self.head()?.ok_or_else(|| {
            Error::state(
                "there are changes and no commit yet to bring up to date",
                "commit them first: git_add, git_commit",
            )
        })?;
        self.put_away(&changes.commit, &before)?;
        let outcome = self.integrate_or_restore(upstream, how);
        let unchanged = match &outcome {
            Ok(integrated) => matches!(
                integrated.result,
                IntegrationResult::UpToDate | IntegrationResult::WouldConflict(_)
            ),
            Err(_) => true,
        };
        let after = if unchanged {
            before
        } else {
            self.head()?.unwrap_or(before)
        };
        let options = MergeOptions::default();
        let tree = self.try_merge(Some(&before), &after, &changes.commit, &options)?;
        if !tree.conflicted.is_empty() {
            return Ok(Carried {
                integrated: outcome?,
                carried: false,
                conflicts: tree.conflicted,
            });
        }
        let index = self.try_merge(Some(&before), &after, &changes.index, &options)?;
        self.invoke("read-tree")
            .words(&["-m", "-u"])
            .object(&after)
            .object(&tree.tree)
            .run()?;
        // Where what was staged conflicts and the files do not, the files win, and nothing is staged.
        let staged = if index.conflicted.is_empty() {
            index.tree
        } else {
            after
        };
        self.invoke("read-tree").word("-m").object(&staged).run()?;
        Ok(Carried {
            integrated: outcome?,
            carried: true,
            conflicts: Vec::new(),
        })
    }

    /// Makes the working tree what HEAD says, untracked files and all.
    fn put_away(&self, changes: &ObjectId, head: &ObjectId) -> Result<(), Error> {
        self.invoke("add")
            .words(&["--all", "--ignore-errors"])
            .run_whatever_it_answers()?;
        self.invoke("read-tree")
            .words(&["-m", "-u"])
            .object(changes)
            .object(head)
            .run()?;
        Ok(())
    }
}
