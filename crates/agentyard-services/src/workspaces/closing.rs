//! Closing a workspace: its unsaved work is kept, its tree removed; its branch stays.

use std::time::Instant;

use agentyard_git::{self as git, CheckpointNote, Trust, Work};
use agentyard_model::{AuditEvent, Caller, Permission, Workspace, WorkspaceState};

use super::holding::series_of;
use super::{Entered, TreeHold, WorkspaceReference, Workspaces};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::progress::Progress;
use crate::turns::to_its_end;

/// Which workspace to close.
#[derive(Debug, Clone)]
pub struct CloseRequest {
    /// Which one.
    pub workspace: WorkspaceReference,
    /// Even while somebody else works in it, or when its tree is broken and its unsaved work cannot be kept.
    pub confirm: bool,
}

/// A workspace that was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Which one.
    pub workspace: Workspace,
    /// Where its unsaved work is kept, when there was any.
    pub kept: Option<String>,
}

impl Workspaces {
    /// Closes a workspace.
    ///
    /// # Errors
    /// When the caller may not write, there is no such workspace, or it was not confirmed and somebody else works in it
    /// or its unsaved work cannot be kept.
    pub async fn close(&self, caller: &Caller, request: CloseRequest, progress: &Progress) -> Result<Closed> {
        caller.require(Permission::ProjectWrite)?;
        let started = Instant::now();
        let row = self.row(caller, &request.workspace).await?;
        refuse_closed(&row)?;
        if self.in_use_by_other(caller, &row) && !request.confirm {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "the workspace {} on {} is in use by {} until {}",
                    row.id, row.branch, row.owner, row.lease_until
                ),
            )
            .hint("close it even so with `confirm: true`; unsaved work is kept either way"));
        }
        let hold = self.hold_row(row.id, "workspace_close", caller, progress).await?;
        let row = self.row(caller, &WorkspaceReference::Id(row.id)).await?;
        // Somebody else may have been first.
        refuse_closed(&row)?;
        let closing = Closing {
            because: "closed by its user",
            even_broken: request.confirm,
        };
        let closed = self.close_held(caller, row, closing, hold).await?;
        self.0.measures.closed(&closed.workspace, started.elapsed());
        Ok(closed)
    }

    /// Closes a workspace that nobody uses, because of something else than somebody's wish. Says whether it did: it
    /// does not when somebody works in it after all.
    pub(super) async fn evict(
        &self,
        caller: &Caller,
        row: &Workspace,
        because: &'static str,
    ) -> Result<bool> {
        let Some(hold) = self.lock_if_free(row.id, "eviction") else {
            return Ok(false);
        };
        let current = self.0.store.workspaces().get(row.tenant, row.id).await;
        let current = current.map_err(|error| from_store("looking up the workspace", error))?;
        let Some(row) =
            current.filter(|row| row.state == WorkspaceState::Open && row.lease_until <= self.0.clock.now())
        else {
            return Ok(false);
        };
        let started = Instant::now();
        let closed = self
            .close_held(caller, row, Closing::because(because), hold)
            .await?;
        self.0.measures.closed(&closed.workspace, started.elapsed());
        self.0.measures.evicted(&closed.workspace);
        Ok(true)
    }

    /// Closes what a process that died was closing.
    pub(super) async fn finish_closing(&self, row: &Workspace, hold: TreeHold) -> Result<()> {
        let caller = Caller::machine(row.tenant);
        let closing = Closing::because("closing was interrupted");
        self.close_held(&caller, row.clone(), closing, hold).await?;
        Ok(())
    }

    /// Closes a workspace whose lock is held, to the end even when whoever asked for it has left.
    async fn close_held(
        &self,
        caller: &Caller,
        row: Workspace,
        closing: Closing,
        hold: TreeHold,
    ) -> Result<Closed> {
        let (workspaces, caller) = (self.clone(), caller.clone());
        to_its_end(async move {
            let closed = workspaces.close_step_by_step(&caller, row, &closing).await;
            drop(hold);
            closed
        })
        .await
    }

    /// The row says `closing` before the tree begins to go, and until the last of it has; each step can be done
    /// again.
    async fn close_step_by_step(&self, caller: &Caller, row: Workspace, closing: &Closing) -> Result<Closed> {
        let because = closing.because;
        let kept = match row.state {
            WorkspaceState::Open => match self.keep_unsaved(&row, because).await {
                // What was kept before and has not been taken up again is still named.
                Ok(kept) => kept.or_else(|| row.kept_ref.clone()),
                Err(error) if closing.even_broken => {
                    tracing::warn!(workspace = %row.id, error = %error.chain(), "a broken tree is removed");
                    row.kept_ref.clone()
                }
                Err(error) => return Err(cannot_keep(&row, &error)),
            },
            // Nobody has worked in it yet, or it was kept before the tree began to go.
            _ => row.kept_ref.clone(),
        };
        // What was kept before and not asked for since is not forgotten, either.
        let kept = kept.or_else(|| row.kept_ref.clone());
        let noted = kept.as_deref();
        // Whoever has seen the row before may not mount the tree again while it is removed.
        let entrance = self.lock_entrance(row.id).await?;
        let began = self.0.store.workspaces().closing(row.tenant, row.id, noted).await;
        began.map_err(|error| from_store("closing the workspace", error))?;
        self.remove_tree(&row).await?;
        drop(entrance);
        let event = AuditEvent::done(
            caller,
            "workspace_close",
            match &kept {
                Some(kept) => format!(
                    "{} on {} ({because}); unsaved work kept as {kept}",
                    row.id, row.branch
                ),
                None => format!("{} on {} ({because})", row.id, row.branch),
            },
        );
        self.0
            .store
            .workspaces()
            .closed(row.id, kept.as_deref(), because, &event)
            .await
            .map_err(|error| from_store("closing the workspace", error))?;
        Ok(Closed { workspace: row, kept })
    }

    /// Keeps what is in the tree and in no commit.
    async fn keep_unsaved(&self, row: &Workspace, because: &'static str) -> Result<Option<String>> {
        let tree = self.attach_as_it_is(row).await?;
        let entered = Entered {
            row: row.clone(),
            tree,
        };
        let workspaces = self.clone();
        let kept = self
            .0
            .turnstile
            .pass(move |cancel| {
                let repository = workspaces.repository_of(&entered)?;
                let work = Work::new(&workspaces.0.git, &repository, Trust::Untrusted, cancel, &|_| {});
                workspaces.restore_interrupted(&entered, &work)?;
                let note = CheckpointNote {
                    operation: because,
                    by: &entered.row.owner,
                };
                work.keep_checkpoint(&series_of(entered.row.id)?, "closed", &note)
            })
            .await?;
        Ok(kept.map(|kept| kept.reference))
    }

    /// Removes a tree and what belongs to it.
    pub(super) async fn remove_tree(&self, row: &Workspace) -> Result<()> {
        self.detach(row);
        if let Some(interpreters) = &self.0.interpreters {
            interpreters.forget(&row.id.to_string());
        }
        let (trees, homes) = (self.0.trees.clone(), self.0.homes.clone());
        let (id, key, name) = (row.id, row.repo.to_string(), row.name.clone());
        // Half removed is worse than not at all, so nobody's leaving stops it.
        self.0
            .turnstile
            .pass(move |_| {
                let never = std::sync::atomic::AtomicBool::new(false);
                trees.close_view(&key, &name, &never)?;
                homes.remove(id).map_err(|error| {
                    git::Error::state(
                        format!("the home directory of the workspace could not be removed: {error}"),
                        "close it again",
                    )
                })
            })
            .await
    }

    /// Removes what an opening that failed has left, and its row, so that it is as if nobody had asked. Says whether
    /// that went well: when it did not, the row stays, and with it the chance to remove the rest later.
    pub(super) async fn unmake(&self, row: Workspace, hold: TreeHold) -> bool {
        let (workspaces, id) = (self.clone(), row.id);
        let forgotten = to_its_end(async move {
            let _hold = hold;
            workspaces.remove_tree(&row).await?;
            let forgotten = workspaces.0.store.workspaces().forget(row.id).await;
            forgotten.map_err(|error| from_store("forgetting the workspace", error))
        })
        .await;
        if let Err(error) = &forgotten {
            tracing::warn!(workspace = %id, error = %error.chain(), "a half-made workspace could not be removed");
        }
        forgotten.is_ok()
    }
}

/// How a workspace is closed.
struct Closing {
    because: &'static str,
    /// Also when its unsaved work cannot be kept, since its tree is not in order.
    even_broken: bool,
}

impl Closing {
    fn because(because: &'static str) -> Self {
        Self {
            because,
            even_broken: false,
        }
    }
}

fn refuse_closed(row: &Workspace) -> Result<()> {
    if row.state != WorkspaceState::Closed {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "the workspace {} on {} is closed already",
        row.id, row.branch
    ))
    .hint("workspace_open opens it again"))
}

fn cannot_keep(row: &Workspace, error: &Error) -> Error {
    Error::new(
        error.kind(),
        format!(
            "the unsaved work in the workspace {} on {} cannot be kept, so it stays open: {}",
            row.id,
            row.branch,
            error.message()
        ),
    )
    .hint("mend its tree, or close it with `confirm: true`: its branch and its checkpoints stay, what came after is lost")
}
