//! Putting a branch on top of what the remote has, or leaving everything as it was.

use crate::program::Reach;
use crate::{BranchName, Error, ObjectId, StatusOptions, Work};

/// How it went.
pub(super) enum Integrated {
    /// The branch is now on top of this.
    Done(ObjectId),
    /// These files conflict; everything is as it was.
    Conflicts(Vec<String>),
}

impl Work<'_> {
    /// Rebases a branch. On a conflict, everything is put back.
    pub(super) fn integrate(&self, branch: &BranchName, onto: &ObjectId) -> Result<Integrated, Error> {
        self.require_rebasable(branch)?;
        let before = self.branch_tip(branch)?;
        let finished = self
            .invoke("rebase")
            .words(&["--no-autostash", "--no-verify", "--no-gpg-sign", "--no-stat"])
            .reach(Reach::Merging)
            .object(onto)
            .run_whatever_it_answers();
        let failure = match finished {
            Ok(finished) if finished.code == Some(0) => return Ok(Integrated::Done(*onto)),
            Ok(finished) => finished.failure("rebase", self.repository().shown()),
            Err(error) => error,
        };
        let conflicts = self.conflicted_files().unwrap_or_default();
        self.put_back(branch, &before)?;
        if conflicts.is_empty() {
            return Err(failure);
        }
        Ok(Integrated::Conflicts(conflicts))
    }

    /// Ends the rebase, also when the call was cancelled, and makes sure that it is as before.
    fn put_back(&self, branch: &BranchName, before: &ObjectId) -> Result<(), Error> {
        let never = std::sync::atomic::AtomicBool::new(false);
        let quiet = Work::new(self.git(), self.repository(), self.trust(), &never, &|_| {});
        quiet.invoke("rebase").word("--abort").run_whatever_it_answers()?;
        let options = StatusOptions {
            untracked: false,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, &never)?;
        let is_as_before = quiet.branch_tip(branch)? == *before
            && quiet.current_branch().as_ref() == Some(branch)
            && status.operation.is_none()
            && status.is_clean();
        if is_as_before {
            return Ok(());
        }
        Err(Error::state(
            format!("the rebase of {branch} could not be undone; it was at {before}"),
            "look at git_status; git_rebase with mode `abort` ends it",
        ))
    }

    fn require_rebasable(&self, branch: &BranchName) -> Result<(), Error> {
        let remedy = format!("call git_pull on {branch} when that is settled, then push again");
        let refuse = |why: &str| {
            Err(Error::state(
                format!("the remote has commits that are not in {branch}, and it cannot be rebased: {why}"),
                remedy.clone(),
            ))
        };
        if self.repository().worktree().is_none() || self.current_branch().as_ref() != Some(branch) {
            return refuse("it is not checked out here");
        }
        let options = StatusOptions {
            untracked: false,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, self.cancel())?;
        if status.operation.is_some() {
            return refuse("another operation is in progress");
        }
        if !status.is_clean() {
            return refuse("there are uncommitted changes");
        }
        Ok(())
    }

    /// The files with conflicts.
    pub(crate) fn conflicted_files(&self) -> Result<Vec<String>, Error> {
        let options = StatusOptions {
            untracked: false,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, self.cancel())?;
        Ok(status.conflicted.into_iter().map(|file| file.path).collect())
    }
}
