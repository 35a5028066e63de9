//! `git branch`: branches are made, moved, renamed and deleted.

mod checks;

use gix::refs::FullName;

use crate::work::loss::unconfirmed;
use crate::{BranchName, Error, Kept, ObjectId, Revision, Work, text};

/// A branch to be made.
#[derive(Debug, Clone)]
pub struct BranchCreation {
    pub name: BranchName,
    /// Where it begins; HEAD by default. It follows this one when it is a remote-tracking branch.
    pub start: Option<Revision>,
    /// Move it when it exists.
    pub force: bool,
    /// The caller knows that its tip loses its name then.
    pub confirm: bool,
}

/// A branch to be deleted.
#[derive(Debug, Clone)]
pub struct BranchDeletion {
    pub name: BranchName,
    /// It is a remote-tracking branch, such as `origin/topic`.
    pub remote: bool,
    /// Also when it has commits that are in neither HEAD nor its upstream.
    pub force: bool,
    /// The caller knows that it will be gone.
    pub confirm: bool,
}

/// A branch to be renamed.
#[derive(Debug, Clone)]
pub struct BranchRename {
    /// The current one when left out.
    pub from: Option<BranchName>,
    pub to: BranchName,
    /// Replace a branch that has the new name.
    pub force: bool,
    /// The caller knows that the tip of that branch loses its name then.
    pub confirm: bool,
}

/// What became of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchChange {
    pub name: String,
    /// Where it points, or pointed before it was deleted; none before its first commit.
    pub commit: Option<ObjectId>,
    /// The branch that it follows.
    pub upstream: Option<String>,
    /// Where a tip is kept that lost its name.
    pub kept: Option<Kept>,
}

impl Work<'_> {
    /// Makes a branch, or moves one.
    pub fn create_branch(&self, creation: &BranchCreation) -> Result<BranchChange, Error> {
        let name = &creation.name;
        let start = self.start_of(creation)?;
        let old = self.tip(&name.reference())?;
        let kept = match old {
            Some(old) if old == start.commit => None,
            Some(old) => {
                if !creation.force {
                    return Err(Error::state(
                        format!("the branch `{name}` exists already, at {}", short(&old)),
                        "choose another name, or pass `force` and `confirm` to move it",
                    ));
                }
                self.refuse_protected(name, "moved")?;
                self.refuse_checked_out(name)?;
                if !creation.confirm {
                    return Err(unconfirmed(format!(
                        "the branch `{name}` would be moved from {} to {}",
                        short(&old),
                        short(&start.commit)
                    )));
                }
                Some(self.keep("branch", &old)?)
            }
            None => None,
        };
        let invocation = self
            .invoke("branch")
            .word_if(old.is_some(), "--force")
            .setting("branch.autoSetupMerge", "true")
            .end_of_options()
            .operand(name);
        match &start.remote_branch {
            Some(remote_branch) => invocation.operand(remote_branch.as_bstr().to_string()),
            None => invocation.object(&start.commit),
        }
        .run()?;
        self.described(name, kept)
    }

    /// Deletes a branch. Its tip is kept.
    pub fn delete_branch(&self, deletion: &BranchDeletion) -> Result<BranchChange, Error> {
        let name = &deletion.name;
        let reference = if deletion.remote {
            format!("refs/remotes/{name}")
        } else {
            name.reference()
        };
        let tip = self.tip(&reference)?.ok_or_else(|| Error::Missing {
            what: format!("there is no branch `{name}`; git_branch with mode `list` names those there are"),
        })?;
        if !deletion.remote {
            self.refuse_protected(name, "deleted")?;
            self.refuse_checked_out(name)?;
            let unmerged = self.unmerged(name, tip)?;
            if unmerged > 0 && !deletion.force {
                return Err(Error::refused(
                    format!(
                        "the branch `{name}` was not deleted: it has {unmerged} {} that neither HEAD nor its upstream has",
                        if unmerged == 1 { "commit" } else { "commits" }
                    ),
                    "merge it first, or pass `force: true` and `confirm: true`: its tip is kept then",
                ));
            }
        }
        if !deletion.confirm {
            return Err(unconfirmed(format!(
                "the branch `{name}` at {} would be deleted",
                short(&tip)
            )));
        }
        let kept = self.keep("branch", &tip)?;
        self.invoke("branch")
            .words(&["--delete", "--force"])
            .word_if(deletion.remote, "--remotes")
            .end_of_options()
            .operand(name)
            .run()?;
        Ok(BranchChange {
            name: name.to_string(),
            commit: Some(tip),
            upstream: None,
            kept: Some(kept),
        })
    }

    /// Renames a branch.
    pub fn rename_branch(&self, rename: &BranchRename) -> Result<BranchChange, Error> {
        let from = self.or_current(rename.from.as_ref())?;
        let to = &rename.to;
        // Before its first commit a branch has nothing to protect.
        if self.tip(&from.reference())?.is_some() {
            self.refuse_protected(&from, "renamed")?;
        }
        let kept = match self.tip(&to.reference())? {
            Some(_) if from == *to => None,
            Some(replaced) => {
                if !rename.force {
                    return Err(Error::state(
                        format!("there is a branch `{to}` already, at {}", short(&replaced)),
                        "choose another name, or pass `force` and `confirm` to replace it",
                    ));
                }
                self.refuse_protected(to, "replaced")?;
                self.refuse_checked_out(to)?;
                if !rename.confirm {
                    return Err(unconfirmed(format!(
                        "the branch `{to}` at {} would be replaced by `{from}`",
                        short(&replaced)
                    )));
                }
                Some(self.keep("branch", &replaced)?)
            }
            None => None,
        };
        self.invoke("branch")
            .word("--move")
            .word_if(kept.is_some(), "--force")
            .end_of_options()
            .operand(&from)
            .operand(to)
            .run()?;
        self.described(to, kept)
    }

    /// Has a branch, or the current one, follow another: a remote-tracking branch (`origin/main`) or one of this
    /// repository.
    pub fn set_upstream(
        &self,
        branch: Option<&BranchName>,
        upstream: &BranchName,
    ) -> Result<BranchChange, Error> {
        let branch = self.existing_or_current(branch)?;
        let candidates = [format!("refs/remotes/{upstream}"), upstream.reference()];
        let mut found = None;
        for candidate in candidates {
            if found.is_none() && self.tip(&candidate)?.is_some() {
                found = Some(candidate);
            }
        }
        let upstream = found.ok_or_else(|| Error::Missing {
            what: format!(
                "there is no branch `{upstream}` to follow; git_fetch brings those of a remote, and git_push with \
                 `set_upstream` makes one there"
            ),
        })?;
        self.invoke("branch")
            .option("--set-upstream-to", upstream)
            .end_of_options()
            .operand(&branch)
            .run()?;
        self.described(&branch, None)
    }

    /// Has a branch, or the current one, follow no other.
    pub fn unset_upstream(&self, branch: Option<&BranchName>) -> Result<BranchChange, Error> {
        let branch = self.existing_or_current(branch)?;
        self.invoke("branch")
            .word("--unset-upstream")
            .end_of_options()
            .operand(&branch)
            .run()?;
        self.described(&branch, None)
    }

    fn start_of(&self, creation: &BranchCreation) -> Result<Start, Error> {
        let local = self.repository().local();
        let Some(revision) = &creation.start else {
            let commit = self.head()?.ok_or_else(|| {
                Error::state(
                    format!(
                        "the branch `{}` cannot be made: there is no commit yet for it to point to",
                        creation.name
                    ),
                    "make the first commit (git_commit), or name another one as `start_point`",
                )
            })?;
            return Ok(Start {
                commit,
                remote_branch: None,
            });
        };
        Ok(Start {
            commit: revision.resolve_commit(&local)?.into(),
            remote_branch: self.remote_branch(revision)?,
        })
    }

    /// What git says of a branch now; this process may still see the configuration as it was.
    fn described(&self, name: &BranchName, kept: Option<Kept>) -> Result<BranchChange, Error> {
        let finished = self
            .invoke("for-each-ref")
            .words(&["--format=%(objectname) %(upstream:short)", "--count=1"])
            .end_of_options()
            .operand(name.reference())
            .run()?;
        let output = String::from_utf8_lossy(&finished.output);
        let (commit, upstream) = output
            .trim_end()
            .split_once(' ')
            .unwrap_or((output.trim_end(), ""));
        Ok(BranchChange {
            name: name.to_string(),
            commit: commit.parse().ok(),
            upstream: Some(text::one_line(upstream)).filter(|upstream| !upstream.is_empty()),
            kept,
        })
    }
}

/// Where a branch begins.
struct Start {
    commit: ObjectId,
    /// The branch that it is to follow.
    remote_branch: Option<FullName>,
}

/// An id for messages.
pub(crate) fn short(id: &ObjectId) -> String {
    id.to_string().chars().take(10).collect()
}
