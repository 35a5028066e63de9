//! Working trees are added.

use std::path::Path;

use super::WorktreeChange;
use crate::init::is_empty;
use crate::roots::shown;
use crate::{BranchName, Confined, Error, ObjectId, Repository, Revision, Work};

/// A working tree to be added.
#[derive(Debug, Clone)]
pub struct WorktreeAddition {
    /// Where: absolute, or relative to the repository's top. It does not exist, or is an empty directory.
    pub path: String,
    /// The branch to check out; one that does not exist is made. Without it and `commitish`, the branch has the
    /// directory's name.
    pub branch: Option<BranchName>,
    /// The commit at which a new branch begins; without a branch, what to check out.
    pub commitish: Option<Revision>,
    /// Check out a commit, and no branch.
    pub detach: bool,
    /// Also when another working tree has the branch checked out.
    pub force: bool,
}

/// What a new working tree has checked out.
enum Checkout {
    Branch(BranchName),
    NewBranch(BranchName, Option<Revision>),
    Commit(ObjectId),
}

impl Work<'_> {
    /// Adds a working tree.
    pub fn add_worktree(&self, addition: &WorktreeAddition) -> Result<WorktreeChange, Error> {
        let path = self.worktree_path(&addition.path);
        let checkout = self.wanted_checkout(addition, &path)?;
        let roots = self.repository().confined_common_dir().roots();
        let place = roots.make_directory(&path)?;
        if !place.is_new() && !is_empty(&place.directory)? {
            return Err(Error::state(
                format!("{} exists, and is not empty", place.directory.shown()),
                "choose a directory that is empty or does not exist",
            ));
        }
        match self.check_out_at(&checkout, addition.force, &place.directory) {
            Ok(()) => {}
            Err(error) => {
                place.undo();
                return Err(error);
            }
        }
        let added = Repository::open(&place.directory)?;
        let head = added.head()?;
        Ok(WorktreeChange {
            path: place.directory.shown(),
            branch: head.branch,
            commit: head.commit,
            left_out: self.left_out(&["post-checkout"]),
            ..WorktreeChange::default()
        })
    }

    fn wanted_checkout(&self, addition: &WorktreeAddition, path: &Path) -> Result<Checkout, Error> {
        let local = self.repository().local();
        let resolve = |revision: &Revision| revision.resolve_commit(&local).map(ObjectId::from);
        if addition.detach && addition.branch.is_some() {
            return Err(Error::invalid(
                "`branch` together with `detach`",
                "name a `commitish` instead",
            ));
        }
        if let Some(branch) = &addition.branch {
            return self.branch_checkout(branch, addition.commitish.as_ref());
        }
        match &addition.commitish {
            Some(revision) if addition.detach => Ok(Checkout::Commit(resolve(revision)?)),
            Some(revision) => match BranchName::new(revision.as_str()) {
                Ok(branch) if self.tip(&branch.reference())?.is_some() => Ok(Checkout::Branch(branch)),
                _ => Ok(Checkout::Commit(resolve(revision)?)),
            },
            None if addition.detach => Ok(Checkout::Commit(self.head_for_worktree()?)),
            None => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let branch = BranchName::new(name.unwrap_or_default()).map_err(|_| {
                    Error::invalid(
                        format!("the directory name of {}", shown(path)),
                        "it is no name for a branch; pass `branch` or `commitish`",
                    )
                })?;
                self.branch_checkout(&branch, None)
            }
        }
    }

    fn branch_checkout(&self, branch: &BranchName, start: Option<&Revision>) -> Result<Checkout, Error> {
        match (self.tip(&branch.reference())?, start) {
            (Some(_), None) => Ok(Checkout::Branch(branch.clone())),
            (Some(tip), Some(start)) => {
                let wanted: ObjectId = start.resolve_commit(&self.repository().local())?.into();
                if wanted == tip {
                    return Ok(Checkout::Branch(branch.clone()));
                }
                Err(Error::state(
                    format!("the branch `{branch}` exists already, and is not at `{start}`"),
                    "leave out `commitish` to check it out as it is, or choose another branch name",
                ))
            }
            (None, start) => {
                match start {
                    Some(start) => drop(start.resolve_commit(&self.repository().local())?),
                    None => drop(self.head_for_worktree()?),
                }
                Ok(Checkout::NewBranch(branch.clone(), start.cloned()))
            }
        }
    }

    fn head_for_worktree(&self) -> Result<ObjectId, Error> {
        self.head()?.ok_or_else(|| {
            Error::state(
                "no working tree can be added: there is no commit yet to check out",
                "make the first commit (git_commit)",
            )
        })
    }

    fn check_out_at(&self, checkout: &Checkout, force: bool, directory: &Confined) -> Result<(), Error> {
        let mut invocation = self
            .invoke("worktree")
            .words(&["add", "--quiet"])
            .word_if(force, "--force")
            .may_write(directory);
        let path = directory.path();
        invocation = match checkout {
            Checkout::Branch(branch) => {
                if !force {
                    self.refuse_checked_out(branch)?;
                }
                invocation.end_of_options().operand(path).operand(branch)
            }
            Checkout::NewBranch(branch, start) => {
                let invocation = invocation.value("-b", branch).end_of_options().operand(path);
                match start {
                    None => invocation.object(&self.head_for_worktree()?),
                    Some(start) => match self.remote_branch(start)? {
                        Some(remote_branch) => invocation.operand(remote_branch.as_bstr().to_string()),
                        None => {
                            let commit = start.resolve_commit(&self.repository().local())?.into();
                            invocation.object(&commit)
                        }
                    },
                }
            }
            Checkout::Commit(commit) => invocation
                .word("--detach")
                .end_of_options()
                .operand(path)
                .object(commit),
        };
        invocation.run().map(drop)
    }
}
