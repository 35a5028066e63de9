//! What a tree is to be brought back to when whoever was changing it dies in between.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agentyard_git::{self as git, CheckpointName, CheckpointNote, ObjectId, Repository, Trust, Work};

use super::holding::{Attempt, FIRST_PAUSE, LAST_PAUSE, series_of, settle_soon};
use super::{Entered, Workspaces};
use crate::error::Result;
use crate::failures::from_git;

/// A note beside the index: until it is gone, the tree is neither here nor there.
pub(super) struct Interrupted {
    path: PathBuf,
}

/// How long a git may still work that outlived its server, and so how long others wait for who waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the note is called, in the git directory of the working tree.
const NOTE: &str = "agentyard-restore";

impl Interrupted {
    /// Notes that the tree is this checkpoint's, whatever it looks like from now on.
    pub(super) fn note(repository: &Repository, checkpoint: &ObjectId) -> Result<Self, git::Error> {
        let path = repository.git_dir().join(NOTE);
        std::fs::write(&path, checkpoint.to_string()).map_err(|error| {
            git::Error::state(
                format!("the workspace cannot be written to: {error}"),
                "look whether the disk is full",
            )
        })?;
        Ok(Self { path })
    }

    /// The tree is what it is meant to be.
    pub(super) fn done(self) {
        // An empty note means nothing, too.
        let removed = std::fs::remove_file(&self.path).or_else(|_| std::fs::write(&self.path, ""));
        if let Err(error) = removed {
            tracing::error!(%error, "a workspace will be restored although it need not be");
        }
    }
}

impl Workspaces {
    /// Changes a tree whole or not at all: when the change fails, is not one that should stay, or whoever made it dies
    /// in between, the tree is what it was, down to the last file. To be called with its lock held.
    pub(super) fn all_or_nothing<T>(
        &self,
        entered: &Entered,
        work: &Work<'_>,
        by: &str,
        change: impl FnOnce() -> Result<T, git::Error>,
        should_stay: impl FnOnce(&T) -> bool,
    ) -> Result<T, git::Error> {
        let series = series_of(entered.row.id)?;
        let note = CheckpointNote {
            operation: "before",
            by,
        };
        let before = work.checkpoint(&series, &note)?;
        // For a while nothing else may hold this work, so it is worth waiting for the disk.
        before.unsettled.settle()?;
        let interrupted = Interrupted::note(work.repository(), &before.checkpoint.id)?;
        let outcome = change();
        let stays = matches!(&outcome, Ok(done) if should_stay(done));
        // Nothing is restored where nothing has changed: whoever stood in the way of the change may go on.
        if !stays && work.checkpoint(&series, &note).map_or(true, |now| now.new) {
            let back = CheckpointName::Id(before.checkpoint.id);
            settle_soon(work.restore_checkpoint(&series, &back, &note)?.unsettled);
        }
        interrupted.done();
        outcome
    }

    /// Brings a tree back to where it was, when somebody died while changing it, and removes the locks that were left
    /// in it. To be called with its lock held, before anything is changed: whoever died need not have been in this
    /// process, nor have held the lock before.
    pub(super) fn restore_interrupted(&self, entered: &Entered, work: &Work<'_>) -> Result<(), git::Error> {
        work.clear_dead_locks(&series_of(entered.row.id)?, PATIENCE)?;
        let path = work.repository().git_dir().join(NOTE);
        let Ok(text) = std::fs::read_to_string(&path) else {
            entered.tree.note_recovered();
            return Ok(());
        };
        let note = CheckpointNote {
            operation: "recovery",
            by: "agentyard",
        };
        // A note that was cut off was written before anything happened, also when it looks like a number.
        if let Ok(checkpoint) = text.trim().parse().map(CheckpointName::Id) {
            let series = series_of(entered.row.id)?;
            let restored = work.restore_checkpoint(&series, &checkpoint, &note)?;
            settle_soon(restored.unsettled);
            tracing::info!(workspace = %entered.row.id, "a workspace was restored after a crash");
        }
        Interrupted { path }.done();
        entered.tree.note_recovered();
        Ok(())
    }

    /// What comes before all else when a process first goes into a tree, even to look: whoever worked there before may
    /// have been killed. Nobody gets past it before it is done, once.
    pub(super) async fn recover_tree(&self, entered: &Entered) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        while !entered.tree.is_recovered() {
            match self.attempt_lock(entered.row.id, "recovery").map_err(from_git)? {
                Attempt::Held(hold) => {
                    let (workspaces, place) = (self.clone(), entered.clone());
                    let recovery = move |cancel: &AtomicBool| {
                        let _hold = hold;
                        place.check_current()?;
                        let repository = workspaces.repository_of(&place)?;
                        let git = &workspaces.0.git;
                        let work = Work::new(git, &repository, Trust::Untrusted, cancel, &|_| {});
                        workspaces.restore_interrupted(&place, &work)
                    };
                    return self.0.turnstile.pass(recovery).await;
                }
                // Whoever holds the lock there lives, and what is unfinished is its own business.
                Attempt::TakenElsewhere => entered.tree.note_recovered(),
                // Whoever holds it here begins with this as well, unless it fails before; or it closes the workspace.
                Attempt::TakenHere if Instant::now() < until => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                }
                Attempt::TakenHere => break,
            }
        }
        entered.check_current().map_err(from_git)
    }
}
