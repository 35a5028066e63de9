//! `git pull`: fetching a branch, and joining it with what is checked out.

use gix::bstr::ByteSlice as _;

use crate::program::Reach;
use crate::{BranchName, Error, ObjectId, RemoteName, Work, display_path};

/// What to pull.
#[derive(Debug, Clone, Default)]
pub struct PullOptions {
    /// From where; the remote that the current branch follows when left out.
    pub remote: Option<RemoteName>,
    /// The branch there; the one that is followed, or of the same name, when left out.
    pub branch: Option<BranchName>,
    /// Puts the own commits on top; as the settings say when left out.
    pub rebase: Option<bool>,
    /// Only when there are no own commits.
    pub fast_forward_only: bool,
}

/// What came of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// From where.
    pub remote: String,
    /// The branch there.
    pub branch: String,
    /// How the two were joined.
    pub strategy: PullStrategy,
    /// What is checked out now.
    pub commit: ObjectId,
    /// What was checked out before, when there was something.
    pub previous: Option<ObjectId>,
    /// Which files are other than before; none while there are conflicts.
    pub files_changed: Vec<String>,
    /// Files with conflicts. The merge or rebase waits for them to be resolved.
    pub conflicts: Vec<String>,
}

/// How two branches were joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullStrategy {
    /// There was nothing new.
    UpToDate,
    /// There were no own commits.
    FastForward,
    /// By a merge commit.
    Merge,
    /// Own commits on top of the others.
    Rebase,
}

/// How many files are named.
const MAX_FILES: usize = 1000;

impl Work<'_> {
    /// Pulls a branch into the one that is checked out.
    pub fn pull(&self, options: &PullOptions) -> Result<Pulled, Error> {
        if self.repository().worktree().is_none() {
            return Err(Error::state(
                "a bare repository has nothing checked out to pull into",
                "use git_fetch",
            ));
        }
        let current = self.current_branch().ok_or_else(|| {
            Error::state(
                "no branch is checked out to pull into",
                "check one out first: git_checkout",
            )
        })?;
        let remote = self.choose_remote(options.remote.as_ref(), Some(&current))?;
        let branch = match options.branch.clone() {
            Some(branch) => branch,
            None => self.followed_branch(&current, &remote)?,
        };
        let previous = self.head()?;
        let tip = self.fetch_branch(&remote, &branch)?;
        let (strategy, conflicts) =
            self.join(options, &current, &remote, &branch, previous.as_ref(), &tip)?;
        let commit = self.head()?.unwrap_or(tip);
        let files_changed = if conflicts.is_empty() {
            self.files_between(previous.as_ref(), &commit)?
        } else {
            Vec::new()
        };
        Ok(Pulled {
            remote: remote.to_string(),
            branch: branch.to_string(),
            strategy,
            commit,
            previous,
            files_changed,
            conflicts,
        })
    }

    fn join(
        &self,
        options: &PullOptions,
        current: &BranchName,
        remote: &RemoteName,
        branch: &BranchName,
        head: Option<&ObjectId>,
        tip: &ObjectId,
    ) -> Result<(PullStrategy, Vec<String>), Error> {
        let is_ahead = match head {
            Some(head) if self.contains(tip, head)? => return Ok((PullStrategy::UpToDate, Vec::new())),
            Some(head) => !self.contains(head, tip)?,
            None => false,
        };
        if !is_ahead {
            self.invoke("merge")
                .words(&["--ff-only", "--no-stat", "--no-autostash"])
                .reach(Reach::Merging)
                .object(tip)
                .run()?;
            return Ok((PullStrategy::FastForward, Vec::new()));
        }
        if options.fast_forward_only
            || self.setting("pull.ff")?.as_deref() == Some("only") && options.rebase.is_none()
        {
            return Err(Error::state(
                format!(
                    "{current} has commits that {remote}/{branch} has not, so it cannot be moved ahead only"
                ),
                "pull with `rebase: true` to put them on top, or without `fast_forward_only` to merge",
            ));
        }
        let rebases = match options.rebase {
            Some(rebases) => rebases,
            None => self.prefers_rebase(current)?,
        };
        let (strategy, call) = if rebases {
            let call = self
                .invoke("rebase")
                .words(&["--no-autostash", "--no-verify", "--no-stat"]);
            (PullStrategy::Rebase, call)
        } else {
            let message = format!("Merge branch '{branch}' of {remote} into {current}");
            let call = self
                .invoke("merge")
                .words(&["--no-edit", "--no-verify", "--no-stat", "--no-autostash"])
                .value("-m", message);
            (PullStrategy::Merge, call)
        };
        let finished = call.reach(Reach::Merging).object(tip).run_whatever_it_answers()?;
        if finished.code == Some(0) {
            return Ok((strategy, Vec::new()));
        }
        let conflicts = self.conflicted_files()?;
        if conflicts.is_empty() {
            return Err(finished.failure("pull", self.repository().shown()));
        }
        Ok((strategy, conflicts))
    }

    /// The branch that `current` follows there, or the one of the same name.
    fn followed_branch(&self, current: &BranchName, remote: &RemoteName) -> Result<BranchName, Error> {
        let follows_remote = self.branch_setting(current, "remote").as_deref() == Some(remote.as_str());
        match self.branch_setting(current, "merge") {
            Some(merge) if follows_remote => {
                BranchName::new(merge.strip_prefix("refs/heads/").unwrap_or(&merge))
            }
            _ => Ok(current.clone()),
        }
    }

    fn prefers_rebase(&self, branch: &BranchName) -> Result<bool, Error> {
        let own = self.branch_setting(branch, "rebase");
        let value = match own {
            Some(value) => Some(value),
            None => self.setting("pull.rebase")?,
        };
        Ok(value.is_some_and(|value| {
            !matches!(
                value.to_ascii_lowercase().as_str(),
                "" | "false" | "no" | "off" | "0"
            )
        }))
    }

    /// What git takes for the value of a setting.
    fn setting(&self, key: &'static str) -> Result<Option<String>, Error> {
        let finished = self
            .invoke("config")
            .words(&["--get", key])
            .run_whatever_it_answers()?;
        let value = String::from_utf8_lossy(&finished.output).trim().to_owned();
        Ok((finished.code == Some(0)).then_some(value))
    }

    fn files_between(&self, old: Option<&ObjectId>, new: &ObjectId) -> Result<Vec<String>, Error> {
        let Some(old) = old else { return Ok(Vec::new()) };
        if old == new {
            return Ok(Vec::new());
        }
        let finished = self
            .invoke("diff-tree")
            .words(&[
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
            ])
            .object(old)
            .object(new)
            .run()?;
        Ok(finished
            .output
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .take(MAX_FILES)
            .map(|path| display_path(path.as_bstr()))
            .collect())
    }
}
