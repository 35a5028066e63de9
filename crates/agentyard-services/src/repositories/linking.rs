//! Working trees beside the main one.

use std::path::Path;

use agentyard_git::{
    self as git, BranchName, Revision, Work, WorktreeAddition, WorktreeChange, WorktreeList, WorktreeRemoval,
};
use agentyard_model::{Caller, Permission};

use super::arguments::needed;
use super::{In, Repositories, named};
use crate::error::Result;
use crate::progress::Progress;

/// What to do with working trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorktreeMode {
    /// List them.
    #[default]
    List,
    /// Add one.
    Add,
    /// Remove one.
    Remove,
    /// Move one.
    Move,
    /// Forget those whose directories are gone.
    Prune,
    /// Lock one against being pruned, moved or removed.
    Lock,
    /// Take the lock off one.
    Unlock,
}

/// What to do with which working trees.
#[derive(Debug, Clone, Default)]
pub struct WorktreeRequest {
    /// What to do.
    pub mode: WorktreeMode,
    /// With which one: absolute, or relative to the repository's top.
    pub worktree_path: Option<String>,
    /// The branch to check out; one that does not exist is made.
    pub branch: Option<String>,
    /// Where a new branch begins; without a branch, what to check out.
    pub commitish: Option<String>,
    /// Check out a commit, and no branch.
    pub detach: bool,
    /// Check out a branch that another working tree has checked out.
    pub force: bool,
    /// Where to move it.
    pub new_path: Option<String>,
    /// Why it is locked.
    pub reason: Option<String>,
    /// Only tell what would be forgotten.
    pub dry_run: bool,
    /// The caller knows what is thrown away.
    pub confirm: bool,
}

/// What came of it.
#[derive(Debug)]
pub enum WorktreeAnswer {
    /// All of them.
    List(WorktreeList),
    /// What became of one.
    Changed(WorktreeChange),
    /// Those that were forgotten, or would be.
    Pruned(Vec<String>),
}

impl Repositories {
    /// Lists working trees, or changes them.
    ///
    /// # Errors
    /// When the caller may not, or the working tree is not in a state for it.
    pub async fn worktree(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: WorktreeRequest,
        progress: &Progress,
    ) -> Result<In<WorktreeAnswer>> {
        if request.mode == WorktreeMode::List {
            caller.require(Permission::ProjectRead)?;
            return self
                .read(caller, path, |repository, cancel| {
                    Ok(In {
                        repository: named(repository),
                        result: WorktreeAnswer::List(repository.worktrees(cancel)?),
                    })
                })
                .await;
        }
        self.change(caller, path, "git_worktree", progress, move |work| {
            change(work, request)
        })
        .await
    }
}

fn change(work: &Work<'_>, request: WorktreeRequest) -> Result<WorktreeAnswer, git::Error> {
    let path = |mode| needed(request.worktree_path.clone(), "worktree_path", mode);
    let changed = match request.mode {
        WorktreeMode::Prune | WorktreeMode::List => {
            return work.prune_worktrees(request.dry_run).map(WorktreeAnswer::Pruned);
        }
        WorktreeMode::Add => work.add_worktree(&WorktreeAddition {
            path: path("add")?,
            branch: request.branch.map(BranchName::new).transpose()?,
            commitish: request.commitish.map(Revision::new).transpose()?,
            detach: request.detach,
            force: request.force,
        }),
        WorktreeMode::Remove => work.remove_worktree(&WorktreeRemoval {
            path: path("remove")?,
            confirm: request.confirm,
        }),
        WorktreeMode::Move => {
            let new_path = needed(request.new_path.as_ref(), "new_path", "move")?;
            work.move_worktree(&path("move")?, new_path)
        }
        WorktreeMode::Lock => work.lock_worktree(&path("lock")?, request.reason.as_deref()),
        WorktreeMode::Unlock => work.unlock_worktree(&path("unlock")?),
    };
    changed.map(WorktreeAnswer::Changed)
}
