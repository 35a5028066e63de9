//! Working trees are removed, and forgotten.

use rustix::fs::AtFlags;

use super::{WorktreeChange, parent_and_name, refuse_locked};
use crate::remove_tree::remove_tree;
use crate::work::loss::unconfirmed;
use crate::{Error, Repository, StatusOptions, Work, Worktree, text};

/// A working tree to be removed.
#[derive(Debug, Clone)]
pub struct WorktreeRemoval {
    /// Absolute, or relative to the repository's top.
    pub path: String,
    /// The caller knows that its changes will be gone from there.
    pub confirm: bool,
}

/// How many changes are counted; more are many.
const MAX_COUNTED: usize = 1000;

/// Longer than any list of working trees that is shown.
const PRUNE_OUTPUT: usize = 1 << 20;

impl Work<'_> {
    /// Removes a working tree. What was not committed in it is kept.
    pub fn remove_worktree(&self, removal: &WorktreeRemoval) -> Result<WorktreeChange, Error> {
        let (worktree, directory) = self.linked_worktree(&removal.path)?;
        self.refuse_current(&worktree, "removed")?;
        refuse_locked(&worktree)?;
        let (parent, name) = parent_and_name(&directory)?;
        let own = Repository::open(&directory)?;
        if own.git_dir() == self.repository().git_dir() || own.common_dir() != self.repository().common_dir()
        {
            return Err(Error::state(
                format!(
                    "{} is not what this repository takes it for: its `.git` leads elsewhere",
                    directory.shown()
                ),
                "look at it; git_worktree with mode `prune` forgets working trees that are gone",
            ));
        }
        let own = Work::new(self.git(), &own, self.trust(), self.cancel(), &|_| {});
        let losses = own.losses()?;
        if !losses.is_empty() && !removal.confirm {
            return Err(unconfirmed(format!(
                "the working tree {} would be removed with {}",
                directory.shown(),
                losses.join(", ")
            )));
        }
        let mut kept = Vec::new();
        if !losses.is_empty() {
            kept.extend(own.keep_changes("worktree", &[])?);
        }
        if let (true, Some(head)) = (worktree.detached, worktree.head) {
            kept.push(self.keep("worktree-head", &head)?);
        }
        remove_tree(&parent, name, self.cancel())?;
        self.invoke("worktree")
            .words(&["remove", "--force"])
            .end_of_options()
            .operand(directory.path())
            .run()?;
        Ok(WorktreeChange {
            path: directory.shown(),
            branch: worktree.branch,
            commit: worktree.head,
            kept,
            ..WorktreeChange::default()
        })
    }

    /// Forgets working trees whose directories are gone, and tells which; with `dry_run` it only tells.
    pub fn prune_worktrees(&self, dry_run: bool) -> Result<Vec<String>, Error> {
        if !dry_run {
            for worktree in self.repository().worktrees(self.cancel())?.worktrees {
                self.keep_head_of_pruned(&worktree)?;
            }
        }
        let finished = self
            .invoke("worktree")
            .words(&["prune", "--verbose"])
            .word_if(dry_run, "--dry-run")
            .output_limit(PRUNE_OUTPUT)
            .run()?;
        let said = [finished.output, finished.errors].concat();
        let said = text::without_controls(&String::from_utf8_lossy(&said));
        Ok(said
            .lines()
            .filter_map(|line| line.strip_prefix("Removing worktrees/"))
            .map(ToOwned::to_owned)
            .collect())
    }

    /// Keeps a commit that nothing but a working tree's HEAD may name.
    fn keep_head_of_pruned(&self, worktree: &Worktree) -> Result<(), Error> {
        if worktree.prunable.is_some()
            && worktree.detached
            && let Some(head) = &worktree.head
        {
            self.keep("worktree-head", head)?;
        }
        Ok(())
    }

    /// What of this working tree is nowhere else, in words.
    fn losses(&self) -> Result<Vec<String>, Error> {
        let repository = self.repository();
        let options = StatusOptions {
            limit: MAX_COUNTED,
            ..StatusOptions::default()
        };
        let status = repository.status(&options, self.cancel())?;
        let unstaged = &status.unstaged;
        let unstaged = [
            &unstaged.added,
            &unstaged.modified,
            &unstaged.deleted,
            &unstaged.type_changed,
        ]
        .map(Vec::len)
        .iter()
        .sum();
        let counts = [
            (status.staged.len(), "staged"),
            (unstaged, "changed but not staged"),
            (status.untracked.len(), "untracked"),
            (status.conflicted.len(), "in conflict"),
        ];
        let mut losses: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if status.operation.is_some() {
            losses.push("an operation in progress".to_owned());
        }
        let git_dir = repository.confined_git_dir().directory();
        if rustix::fs::statat(git_dir, "modules", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            losses.push("the repositories of its submodules".to_owned());
        }
        Ok(losses)
    }
}
