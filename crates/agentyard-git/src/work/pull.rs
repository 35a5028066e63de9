//! `git pull`: fetching a branch, and joining it with what is checked out.

use crate::work::{Integrated, Integration};
use crate::{BranchName, Error, RemoteName, Work};

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
    pub integrated: Integrated,
}

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
        let tip = self.fetch_branch(&remote, &branch)?;
        let how = self.way_of_joining(options, &current)?;
        if how == Integration::FastForwardOnly
            && let Some(head) = self.head()?
            && !self.contains(&tip, &head)?
            && !self.contains(&head, &tip)?
        {
            return Err(Error::state(
                format!(
                    "{current} has commits that {remote}/{branch} has not, so it cannot be moved ahead only"
                ),
                "pull with `rebase: true` to put them on top, or without `fast_forward_only` to merge",
            ));
        }
        Ok(Pulled {
            remote: remote.to_string(),
            branch: branch.to_string(),
            integrated: self.integrate_upstream(&tip, how)?,
        })
    }

    /// As the call says, or else as the settings do.
    fn way_of_joining(&self, options: &PullOptions, current: &BranchName) -> Result<Integration, Error> {
        let only_ahead = options.rebase.is_none() && self.setting("pull.ff")?.as_deref() == Some("only");
        if options.fast_forward_only || only_ahead {
            return Ok(Integration::FastForwardOnly);
        }
        let rebases = match options.rebase {
            Some(rebases) => rebases,
            None => self.prefers_rebase(current)?,
        };
        Ok(if rebases {
            Integration::Rebase
        } else {
            Integration::Merge
        })
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
}
