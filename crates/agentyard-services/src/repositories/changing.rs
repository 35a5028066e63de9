//! How a repository is changed: one caller at a time, with what it may run settled first and what it did
//! written down after.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agentyard_git::{self as git, Git, Repository, Trust, Work};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission};

use super::{Repositories, named};
use crate::error::Result;
use crate::failures::from_git;
use crate::places::{Located, Places, key_of};
use crate::progress::Progress;
use crate::turns::Turnstile;

/// What came of a call, and on which repository.
#[derive(Debug)]
pub struct In<T> {
    /// Its working tree, or its git directory when it has none.
    pub repository: PathBuf,
    /// What came of it.
    pub result: T,
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
        self.change_through(self.places.turnstile(), caller, path, operation, progress, work)
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
        let worked = self
            .work(turnstile, caller, path, Turn::Alone(operation), progress, work)
            .await?;
        let outcome = if worked.result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, operation, worked.repository.display(), outcome);
        self.audit.record_soon(event).await;
        worked.transposed()
    }

    /// Asks the git program about a repository, for reads that it serves better than this process.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<T>> {
        caller.require(Permission::ProjectRead)?;
        self.work(
            self.places.turnstile(),
            caller,
            path,
            Turn::BesideOthers,
            &Progress::ignored(),
            work,
        )
        .await?
        .transposed()
    }

    /// Opens a repository and works in it: in one go where nothing has to be asked or waited for first, which is
    /// whether its programs may run, and whose turn it is.
    async fn work<T: Send + 'static>(
        &self,
        turnstile: &Turnstile,
        caller: &Caller,
        path: Option<&Path>,
        turn: Turn,
        progress: &Progress,
        work: impl FnOnce(&Work<'_>) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<In<Result<T>>> {
        let located = self.places.locate(caller, path).await?;
        let (places, git, reporting) = (self.places.clone(), self.git.clone(), progress.clone());
        let (place, by) = (located.clone(), caller.subject.to_string());
        let attempt = turnstile
            .pass(move |cancel| {
                let directory = place.roots.resolve(&place.directory);
                let repository = directory.and_then(|directory| places.kept().open(&directory));
                let repository = repository.map_err(|error| place.explained(error))?;
                let hold = match turn {
                    Turn::BesideOthers => None,
                    Turn::Alone(operation) => {
                        match places.try_hold(&place, &key_of(&repository), operation, &by)? {
                            Some(hold) => Some(hold),
                            None => return Ok(Attempt::NotYet(repository, work)),
                        }
                    }
                };
                if !repository.programs().is_empty() {
                    return Ok(Attempt::NotYet(repository, work));
                }
                let result = perform(&git, &repository, Trust::Untrusted, cancel, &reporting, |it| {
                    turn.perform(&places, &place, it, &by, work)
                });
                drop(hold);
                Ok(Attempt::Done(named(&repository), result))
            })
            .await?;
        let (repository, work) = match attempt {
            Attempt::Done(repository, result) => {
                return Ok(In {
                    repository,
                    result: result.map_err(from_git),
                });
            }
            Attempt::NotYet(repository, work) => (repository, work),
        };
        let hold = match turn {
            Turn::BesideOthers => None,
            Turn::Alone(operation) => {
                let key = key_of(&repository);
                Some(
                    self.places
                        .wait(&located, &key, operation, caller, progress)
                        .await?,
                )
            }
        };
        let trust = self.trust.of(&repository).await?;
        let (git, target, reporting) = (self.git.clone(), named(&repository), progress.clone());
        let (places, by) = (self.places.clone(), caller.subject.to_string());
        let result = turnstile
            .pass(move |cancel| {
                // Held until the work has ended, also when nobody waits for it any more.
                let _hold = hold;
                perform(&git, &repository, trust, cancel, &reporting, |it| {
                    turn.perform(&places, &located, it, &by, work)
                })
            })
            .await;
        Ok(In {
            repository: target,
            result,
        })
    }
}

/// Whether others may work in the repository at the same time.
#[derive(Clone, Copy)]
enum Turn {
    BesideOthers,
    /// No, while this operation goes on.
    Alone(&'static str),
}

impl Turn {
    fn perform<T>(
        self,
        places: &Places,
        located: &Located,
        work: &Work<'_>,
        by: &str,
        act: impl FnOnce(&Work<'_>) -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        match self {
            Self::BesideOthers => act(work),
            Self::Alone(operation) => places.changing(located, work, operation, by, act),
        }
    }
}

/// How far work came without asking or waiting.
enum Attempt<T, W> {
    Done(PathBuf, Result<T, git::Error>),
    NotYet(Arc<Repository>, W),
}

impl<T> In<Result<T>> {
    fn transposed(self) -> Result<In<T>> {
        Ok(In {
            repository: self.repository,
            result: self.result?,
        })
    }
}

fn perform<T>(
    git: &Git,
    repository: &Repository,
    trust: Trust,
    cancel: &AtomicBool,
    progress: &Progress,
    work: impl FnOnce(&Work<'_>) -> Result<T, git::Error>,
) -> Result<T, git::Error> {
    let report = |step: git::Progress| progress.report(step.done, step.total, step.stage);
    work(&Work::new(git, repository, trust, cancel, &report))
}
