//! Going back to an earlier state of a workspace.

use std::sync::Arc;

use agentyard_git::{
    self as git, Checkpoint, CheckpointName, CheckpointNote, CheckpointPage, CheckpointQuery, Restored,
    Trust, Work,
};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission, Workspace};

use super::holding::{series_of, settle_soon};
use super::{Entered, TreeHold, WorkspaceReference, Workspaces};
use crate::error::{Result, from_store};
use crate::failures::from_git;
use crate::progress::Progress;
use crate::turns::to_its_end;

/// A workspace that is as it was before.
#[derive(Debug)]
pub struct Undone {
    /// Which one.
    pub workspace: Workspace,
    /// The state that was left; it can be gone back to in turn.
    pub from: Checkpoint,
    /// The state that was restored.
    pub to: Checkpoint,
    /// How many files were written.
    pub files_written: usize,
    /// How many files were removed.
    pub files_removed: usize,
    /// What could not be restored, because no checkpoint holds it.
    pub not_restored: Vec<String>,
}

/// How far back the last change is looked for.
const LOOKED_AT: usize = 200;

/// What checkpoints are called that an undo made; the number of the one that was restored follows.
const UNDO: &str = "workspace_undo";

/// The newest checkpoint is the present state. Of a state that an undo restored, the one before is what was before
/// *that*: calling again goes further back, not forth.
fn before_last_change(page: &CheckpointPage) -> Option<CheckpointName> {
    let mut checkpoints = page.checkpoints.iter().map(|listed| &listed.checkpoint);
    let mut origin = checkpoints.next()?;
    while let Some(restored) = restored_by(origin) {
        // One that is not there any more had nothing before it.
        origin = checkpoints.find(|it| it.number == Some(restored))?;
    }
    checkpoints.find_map(|it| it.number).map(CheckpointName::Number)
}

/// The number of the checkpoint whose state this one has because of an undo.
fn restored_by(checkpoint: &Checkpoint) -> Option<u64> {
    let number = checkpoint.operation.strip_prefix(UNDO)?.trim().parse().ok()?;
    Some(number).filter(|number| *number > 0)
}

impl Workspaces {
    /// The checkpoints of a workspace, newest first.
    ///
    /// # Errors
    /// When the caller may not read, or there is no such open workspace.
    pub async fn checkpoints(
        &self,
        caller: &Caller,
        workspace: &WorkspaceReference,
        query: CheckpointQuery,
    ) -> Result<CheckpointPage> {
        caller.require(Permission::ProjectRead)?;
        let entered = self.enter(caller, workspace).await?;
        let workspaces = self.clone();
        self.0
            .turnstile
            .pass(move |cancel| {
                let repository = workspaces.repository_of(&entered)?;
                repository.checkpoints(&series_of(entered.row.id)?, &query, cancel)
            })
            .await
    }

    /// Restores a checkpoint: files, index, branch and all. Without one, the state before the last change. The
    /// state that is left is a checkpoint itself, so that this can be undone, too.
    ///
    /// # Errors
    /// When the caller may not write, there is no such workspace or checkpoint, or nothing to go back to.
    pub async fn undo(
        &self,
        caller: &Caller,
        workspace: &WorkspaceReference,
        to: Option<String>,
        progress: &Progress,
    ) -> Result<Undone> {
        caller.require(Permission::ProjectWrite)?;
        let started = std::time::Instant::now();
        let name = to.clone();
        let to: Option<CheckpointName> = to.map(|to| to.parse()).transpose().map_err(from_git)?;
        let entered = self.enter(caller, workspace).await?;
        let hold = self.hold(&entered, "workspace_undo", caller, progress).await?;
        let by = caller.subject.to_string();
        let kept = name.filter(|name| entered.row.kept_ref.as_ref() == Some(name));
        let (workspaces, place) = (self.clone(), entered.clone());
        let result = to_its_end(async move {
            let hold = Arc::new(hold);
            let restored = workspaces.go_back(&place, to, by, hold.clone()).await?;
            // Before anybody else gets the tree: who closes it next may keep the same work under the same name.
            if let Some(kept) = kept {
                let noted = workspaces
                    .0
                    .store
                    .workspaces()
                    .restored(place.row.id, &kept)
                    .await;
                noted.map_err(|error| from_store("noting that kept work is restored", error))?;
            }
            drop(hold);
            Ok(restored)
        })
        .await;
        let outcome = if result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, "workspace_undo", entered.row.id, outcome);
        self.0.audit.record_soon(event).await;
        let restored = result?;
        self.0.measures.undone(&entered.row, started.elapsed());
        Ok(Undone {
            workspace: entered.row,
            from: restored.from,
            to: restored.to,
            files_written: restored.files_written,
            files_removed: restored.files_removed,
            not_restored: restored.not_restored,
        })
    }

    /// Makes a tree what it was, whole or not at all.
    async fn go_back(
        &self,
        entered: &Entered,
        to: Option<CheckpointName>,
        by: String,
        hold: Arc<TreeHold>,
    ) -> Result<Restored> {
        let (workspaces, place) = (self.clone(), entered.clone());
        self.0
            .turnstile
            .pass(move |cancel| {
                // Held until the work has ended, also when nobody waits for it any more.
                let _hold = hold;
                let repository = workspaces.repository_of(&place)?;
                // Half restored is worse than not at all, so nobody's leaving stops it once it has begun.
                let never = std::sync::atomic::AtomicBool::new(false);
                let work = Work::new(&workspaces.0.git, &repository, Trust::Untrusted, &never, &|_| {});
                workspaces.restore_interrupted(&place, &work)?;
                let series = series_of(place.row.id)?;
                let note = CheckpointNote {
                    operation: UNDO,
                    by: &by,
                };
                let to = match to {
                    Some(to) => to,
                    None => {
                        workspaces.checkpoint(&place, &work, "before", &by)?;
                        before_last_change(&repository.checkpoints(
                            &series,
                            &CheckpointQuery {
                                limit: LOOKED_AT,
                                before: None,
                            },
                            cancel,
                        )?)
                        .ok_or_else(|| {
                            git::Error::state(
                                "there is nothing to undo in this workspace",
                                "workspace_checkpoints lists the states that there are",
                            )
                        })?
                    }
                };
                let mut restored = workspaces.all_or_nothing(
                    &place,
                    &work,
                    &by,
                    || work.restore_checkpoint(&series, &to, &note),
                    |_| true,
                )?;
                let origin = restored.to.number.unwrap_or_default();
                workspaces.checkpoint(&place, &work, &format!("{UNDO} {origin}"), &by)?;
                settle_soon(std::mem::take(&mut restored.unsettled));
                Ok(restored)
            })
            .await
    }
}
