//! Changing a tree: one at a time, in this process and among all that share the data directory, and with a
//! checkpoint before and after.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agentyard_git::{
    self as git, CheckpointChange, CheckpointName, CheckpointNote, CheckpointSeries, LockAttempt, LockFile,
    LockHolder, ObjectId, Repository, Trust, Unsettled, Work,
};
use agentyard_model::{Caller, WorkspaceId};

use super::interrupted::Interrupted;
use super::{Entered, Workspaces};
use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::progress::Progress;
use crate::turns::Turn;

/// The right to change a workspace's tree, until it is dropped.
pub(crate) struct TreeHold {
    _lock: LockFile,
    _turn: Turn,
}

/// How often a lock of another process is asked for, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const LAST_PAUSE: Duration = Duration::from_millis(250);

/// How long somebody waits for another process before being told to come back: longer than most clients do.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Checkpoints are counted, and old ones removed, once in so many.
const PRUNE_EVERY: u64 = 32;

impl Workspaces {
    /// The turn to change a tree, unless somebody has it.
    pub(crate) fn try_hold(
        &self,
        entered: &Entered,
        operation: &'static str,
        by: &str,
    ) -> Result<Option<TreeHold>, git::Error> {
        let Some(turn) = self.0.turns.try_take(&key_of(entered.row.id), operation) else {
            return Ok(None);
        };
        let attempt = self.try_lock(entered.row.id, operation, by)?;
        let LockAttempt::Held(lock) = attempt else {
            return Ok(None);
        };
        entered.check_current()?;
        Ok(Some(TreeHold {
            _lock: lock,
            _turn: turn,
        }))
    }

    /// Waits for the turn to change a tree.
    pub(crate) async fn hold(
        &self,
        entered: &Entered,
        operation: &'static str,
        caller: &Caller,
        progress: &Progress,
    ) -> Result<TreeHold> {
        let hold = self.hold_row(entered.row.id, operation, caller, progress).await?;
        entered.check_current().map_err(from_git)?;
        Ok(hold)
    }

    /// As [`Workspaces::hold`], whether there is a tree or not.
    pub(super) async fn hold_row(
        &self,
        workspace: WorkspaceId,
        operation: &'static str,
        caller: &Caller,
        progress: &Progress,
    ) -> Result<TreeHold> {
        let started = Instant::now();
        let turn = self.0.turns.take(&key_of(workspace), operation, progress).await;
        let by = caller.subject.to_string();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.try_lock(workspace, operation, &by).map_err(from_git)? {
                LockAttempt::Held(lock) => {
                    self.0.measures.waited(started.elapsed());
                    return Ok(TreeHold {
                        _lock: lock,
                        _turn: turn,
                    });
                }
                LockAttempt::Taken(holder) if started.elapsed() > LONGEST_WAIT => {
                    return Err(Error::new(
                        ErrorKind::Unavailable,
                        format!("the workspace is taken: {}", described(&holder)),
                    )
                    .hint("try again when that has ended"));
                }
                LockAttempt::Taken(holder) => {
                    progress.report(0, None, format!("waiting for {}", described(&holder)));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// The lock of a workspace that nobody works on; none when somebody does.
    pub(super) fn lock_if_free(&self, workspace: WorkspaceId, operation: &'static str) -> Option<TreeHold> {
        let turn = self.0.turns.try_take(&key_of(workspace), operation)?;
        match self.try_lock(workspace, operation, "agentyard") {
            Ok(LockAttempt::Held(lock)) => Some(TreeHold {
                _lock: lock,
                _turn: turn,
            }),
            Ok(LockAttempt::Taken(_)) | Err(_) => None,
        }
    }

    /// Waits for the right to mount a tree, or to remove it: held for moments, and beside the turn to change the tree,
    /// for which who only reads does not wait.
    pub(super) async fn lock_entrance(&self, workspace: WorkspaceId) -> Result<LockFile> {
        let name = format!("{workspace}.entrance");
        let mut pause = FIRST_PAUSE;
        let started = Instant::now();
        loop {
            let attempt = self
                .0
                .locks
                .try_take(&name, "entering", "agentyard", self.0.clock.now());
            match attempt.map_err(from_git)? {
                LockAttempt::Held(lock) => return Ok(lock),
                LockAttempt::Taken(holder) if started.elapsed() > LONGEST_WAIT => {
                    return Err(Error::new(
                        ErrorKind::Unavailable,
                        format!("the workspace is being opened or closed: {}", described(&holder)),
                    )
                    .hint("try again when that has ended"));
                }
                LockAttempt::Taken(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    fn try_lock(&self, workspace: WorkspaceId, operation: &str, by: &str) -> Result<LockAttempt, git::Error> {
        self.0
            .locks
            .try_take(&workspace.to_string(), operation, by, self.0.clock.now())
    }

    /// Changes a tree between two checkpoints: the first holds what a person may have done since the last call, the
    /// second what this one did.
    pub(crate) fn between_checkpoints<T>(
        &self,
        entered: &Entered,
        work: &Work<'_>,
        operation: &str,
        by: &str,
        change: impl FnOnce(&Work<'_>) -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        self.restore_interrupted(entered, work)?;
        let before = self.checkpoint(entered, work, "before", by)?;
        // Whoever is killed in between has done nothing, rather than half of it.
        let resume = Interrupted::note(work.repository(), &CheckpointName::Id(before))?;
        let result = change(work);
        resume.done();
        // What is done is done, so a failure here is only logged. It is also what a cancelled call leaves behind.
        let never = AtomicBool::new(false);
        let after = work.cancelled_by(&never);
        if let Err(error) = self.checkpoint(entered, &after, operation, by) {
            tracing::error!(%error, workspace = %entered.row.id, operation, "no checkpoint could be made");
        }
        result
    }

    /// Writes down the state of a tree in which something else than git works.
    pub(crate) fn checkpoint_tree(
        &self,
        entered: &Entered,
        operation: &str,
        by: &str,
        cancel: &AtomicBool,
    ) -> Result<ObjectId, git::Error> {
        let repository = self.repository_of(entered)?;
        let work = Work::new(&self.0.git, &repository, Trust::Untrusted, cancel, &|_| {});
        self.restore_interrupted(entered, &work)?;
        self.checkpoint(entered, &work, operation, by)
    }

    /// What was changed in a tree between two checkpoints: so many files are named, and all are counted.
    pub(crate) fn changes_between(
        &self,
        entered: &Entered,
        (before, after): (ObjectId, ObjectId),
        most: usize,
        cancel: &AtomicBool,
    ) -> Result<(Vec<CheckpointChange>, usize), git::Error> {
        let repository = self.repository_of(entered)?;
        repository.changes_between(before, after, most, cancel)
    }

    /// Changes files of a tree that is as in this checkpoint: whoever is killed in between has done nothing, and leaves
    /// nothing half written behind.
    pub(crate) fn whole_or_not_at_all<T>(
        &self,
        entered: &Entered,
        before: &ObjectId,
        change: impl FnOnce() -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        let repository = self.repository_of(entered)?;
        let resume = Interrupted::note(&repository, &CheckpointName::Id(*before))?;
        let result = change();
        resume.done();
        result
    }

    /// Counts what a push in a workspace met.
    pub(crate) fn count_push(&self, entered: &Entered, retries: u32, conflicts: usize) {
        self.0.measures.push_retries(&entered.row, retries);
        self.0.measures.conflicts(&entered.row, conflicts);
    }

    /// The repository of a workspace, kept open.
    pub(super) fn repository_of(&self, entered: &Entered) -> Result<std::sync::Arc<Repository>, git::Error> {
        self.0.kept.open(&entered.roots().resolve(entered.path())?)
    }

    pub(super) fn checkpoint(
        &self,
        entered: &Entered,
        work: &Work<'_>,
        operation: &str,
        by: &str,
    ) -> Result<ObjectId, git::Error> {
        let series = series_of(entered.row.id)?;
        let made = work.checkpoint(&series, &CheckpointNote { operation, by })?;
        let is_due = |number: u64| number.is_multiple_of(PRUNE_EVERY);
        if made.new && made.checkpoint.number.is_some_and(is_due) {
            // Too many checkpoints keep nobody from working.
            if let Err(error) = work.prune_checkpoints(&series, self.0.settings.max_checkpoints) {
                tracing::warn!(%error, workspace = %entered.row.id, "old checkpoints could not be removed");
            }
        }
        settle_soon(made.unsettled);
        Ok(made.checkpoint.id)
    }
}

/// The checkpoints of a workspace.
pub(super) fn series_of(workspace: WorkspaceId) -> Result<CheckpointSeries, git::Error> {
    CheckpointSeries::new(workspace.to_string())
}

/// What was written outlives this process already; it reaches the disk a moment later, as audit rows do.
pub(super) fn settle_soon(unsettled: Unsettled) {
    let settle = move || {
        if let Err(error) = unsettled.settle() {
            tracing::error!(%error, "a checkpoint could not be written to disk");
        }
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(settle)),
        Err(_) => settle(),
    }
}

/// Under which name those who want to change a workspace queue.
fn key_of(workspace: WorkspaceId) -> PathBuf {
    Path::new("workspace").join(workspace.to_string())
}

fn described(holder: &LockHolder) -> String {
    let since = holder
        .since
        .map(|since| format!(" since {since}"))
        .unwrap_or_default();
    let doing = if holder.doing.is_empty() {
        "another process"
    } else {
        &holder.doing
    };
    let by = if holder.by.is_empty() {
        String::new()
    } else {
        format!(" by {}", holder.by)
    };
    format!("{doing}{by} (process {}{since})", holder.process)
}
