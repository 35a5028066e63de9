//! How a repository is changed: one caller at a time, with what it may run settled first and what it did
//! written down after.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agentyard_git::{self as git, Repository, Work};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission};
use tokio::sync::OwnedMutexGuard;

use super::{Repositories, Turnstile, named};
use crate::error::Result;
use crate::progress::Progress;

/// What came of a call, and on which repository.
#[derive(Debug)]
pub struct In<T> {
    /// Its working tree, or its git directory when it has none.
    pub repository: PathBuf,
    /// What came of it.
    pub result: T,
}

/// Who may change which repository now.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits until nobody else in this process changes the repository.
    async fn take(&self, repository: &Path, progress: &Progress) -> OwnedMutexGuard<()> {
        let turn = self.of(repository);
        match turn.clone().try_lock_owned() {
            Ok(guard) => guard,
            Err(_) => {
                progress.report(0, None, "waiting for another change of this repository to end");
                turn.lock_owned().await
            }
        }
    }

    fn of(&self, repository: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(repository).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(repository.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

impl Repositories {
    /// Changes a repository. The caller needs the permission to write; others wait for their turn; the outcome
    /// is in the audit log under the name of the operation.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        operation: &'static str,
        progress: &Progress,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<T>> {
        self.change_through(&self.readers, caller, path, operation, progress, work)
            .await
    }

    /// As [`Repositories::change`], for work that talks to other machines.
    pub(super) async fn change_with_remote<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        operation: &'static str,
        progress: &Progress,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<T>> {
        self.change_through(&self.connections, caller, path, operation, progress, work)
            .await
    }

    async fn change_through<T: Send + 'static>(
        &self,
        turnstile: &Turnstile,
        caller: &Caller,
        path: Option<&Path>,
        operation: &'static str,
        progress: &Progress,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<T>> {
        caller.require(Permission::ProjectWrite)?;
        let repository = self.opened(caller, path).await?;
        let _turn = self.turns.take(repository.common_dir(), progress).await;
        let target = named(&repository);
        let result = self.work(turnstile, repository, progress, work).await;
        let outcome = if result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, operation, target.display(), outcome);
        self.audit.record_soon(event).await;
        Ok(In {
            repository: target,
            result: result?,
        })
    }

    /// Asks the git program about a repository, for reads that it serves better than this process.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<T>> {
        caller.require(Permission::ProjectRead)?;
        let repository = self.opened(caller, path).await?;
        let target = named(&repository);
        let result = self
            .work(&self.readers, repository, &Progress::ignored(), work)
            .await?;
        Ok(In {
            repository: target,
            result,
        })
    }

    async fn work<T: Send + 'static>(
        &self,
        turnstile: &Turnstile,
        repository: Arc<Repository>,
        progress: &Progress,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let trust = self.trust.of(&repository).await?;
        let git = self.git.clone();
        let progress = progress.clone();
        turnstile
            .pass(move |cancel| {
                let report = |step: git::Progress| progress.report(step.done, step.total, step.stage);
                work(&Work::new(&git, &repository, trust, cancel, &report))
            })
            .await
    }

    async fn opened(&self, caller: &Caller, path: Option<&Path>) -> Result<Arc<Repository>> {
        let roots = self.roots_of(caller)?;
        let directory = self.directory(caller, path).await?;
        let kept = Arc::clone(&self.kept);
        self.in_background(move |_| kept.open(&roots.resolve(&directory)?))
            .await
    }
}
