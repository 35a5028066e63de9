//! Repositories: what is in them and what is done to them, as far as the caller may.
//!
//! This file says which repository is meant and how work on it runs; each file below holds what one noun can do.

mod arguments;
mod branching;
mod changelog;
mod changing;
mod checking_out;
mod cherry_picking;
mod cleaning;
mod cloning;
mod committing;
mod comparing;
mod failures;
mod initialising;
mod linking;
mod merging;
mod reading;
mod rebasing;
mod reflog;
mod remotes;
mod resetting;
mod showing;
mod staging;
mod stashing;
mod tagging;
mod working_directory;
mod wrapup;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentyard_git::{self as git, Git, KeepLimits, KeptRepositories, Repository, Roots};
use agentyard_model::{Caller, Clock, TenantId};
use tokio::sync::Semaphore;

use crate::audit::AuditLog;
use crate::error::{Error, ErrorKind, Result};
use crate::trust::TrustedRepositories;
use crate::working_directories::WorkingDirectories;
pub use branching::{BranchAnswer, BranchMode, BranchRequest};
pub use changelog::{ChangelogRequest, ChangelogReviews};
pub use changing::In;
use changing::Turns;
pub use checking_out::CheckoutRequest;
pub use cherry_picking::CherryPickRequest;
pub use cleaning::{CleanOutcome, CleanRequest};
pub use cloning::CloneRequest;
pub use committing::CommitRequest;
pub use comparing::{DiffPage, DiffPlace, DiffRequest};
use failures::from_git;
pub use initialising::InitRequest;
pub use linking::{WorktreeAnswer, WorktreeMode, WorktreeRequest};
pub use merging::{MergeAnswer, MergeMode, MergeRequest};
pub use reading::{History, HistoryRequest, RepositoryStatus};
pub use rebasing::{RebaseRequest, SequenceMode};
pub use reflog::Reflog;
pub use remotes::{FetchRequest, PullRequest, PushRequest, RemoteMode, RemoteRequest, Remotes};
pub use resetting::ResetRequest;
pub use showing::{BlameRequest, ShowRequest, Shown};
pub use staging::AddRequest;
pub use stashing::{StashRequest, Stashes};
pub use tagging::{TagAnswer, TagMode, TagRequest};
pub use working_directory::{RepositorySnapshot, Snapshot, WorkingDirectoryNeeds};
pub use wrapup::{Document, Step, Wrapup};

/// How many repositories are read at the same time. More would only take turns on the
/// cores, and each holds memory while it waits.
const READERS: usize = 8;

/// How many calls may talk to other machines at the same time. They have turns of their own, so that remotes
/// that do not answer keep nobody from reading.
const CONNECTIONS: usize = 16;

/// How many paths each list of a status may have. What does not fit into one answer is
/// fetched by cursor; past this, a tree is not looked at path by path any more.
const MAX_STATUS_PATHS: usize = 100_000;

/// Repositories.
pub struct Repositories {
    roots: Roots,
    working_directories: WorkingDirectories,
    kept: Arc<KeptRepositories>,
    readers: Turnstile,
    connections: Turnstile,
    clock: Clock,
    git: Arc<Git>,
    wrapup_instructions: Option<PathBuf>,
    turns: Arc<Turns>,
    audit: AuditLog,
    trust: TrustedRepositories,
}

/// How many calls of a kind run at once, and how long each of them may take.
struct Turnstile {
    turns: Semaphore,
    timeout: Duration,
    /// The setting that says how long.
    setting: &'static str,
}

/// What repositories may be read, and for how long.
pub struct RepositorySettings {
    /// The directories that the local tenant may use.
    pub roots: Roots,
    /// Where the directories that `.` stands for are kept.
    pub working_directories: WorkingDirectories,
    /// How long one call may read.
    pub timeout: Duration,
    /// How long one call may talk to another machine.
    pub network_timeout: Duration,
    /// The git program, and what it may do.
    pub git: Git,
    /// A file with what the operator wants to be heeded before work is called done.
    pub wrapup_instructions: Option<PathBuf>,
}

impl Repositories {
    pub(crate) fn new(
        settings: RepositorySettings,
        audit: AuditLog,
        trust: TrustedRepositories,
        clock: Clock,
    ) -> Self {
        Self {
            roots: settings.roots,
            working_directories: settings.working_directories,
            kept: Arc::new(KeptRepositories::new(KeepLimits::default())),
            readers: Turnstile {
                turns: Semaphore::new(READERS),
                timeout: settings.timeout,
                setting: "git.timeout_ms",
            },
            connections: Turnstile {
                turns: Semaphore::new(CONNECTIONS),
                timeout: settings.network_timeout,
                setting: "git.network_timeout_ms",
            },
            clock,
            git: Arc::new(settings.git),
            wrapup_instructions: settings.wrapup_instructions,
            turns: Arc::default(),
            audit,
            trust,
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        work: impl FnOnce(&Repository, &AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let roots = self.roots_of(caller)?;
        let directory = self.directory(caller, path).await?;
        let kept = Arc::clone(&self.kept);
        self.in_background(move |cancel| {
            let confined = roots.resolve(&directory)?;
            work(&*kept.open(&confined)?, cancel)
        })
        .await
    }

    /// The roots are the local tenant's: other tenants' repositories will be projects,
    /// and until they have some there is nothing here for them to see.
    fn roots_of(&self, caller: &Caller) -> Result<Roots> {
        if caller.tenant == TenantId::LOCAL {
            return Ok(self.roots.clone());
        }
        Err(Error::not_found("your tenant has no repositories on this server"))
    }

    async fn directory(&self, caller: &Caller, path: Option<&Path>) -> Result<PathBuf> {
        match path {
            Some(path) if path.is_absolute() => Ok(path.to_owned()),
            Some(path) if path != Path::new(".") && !path.as_os_str().is_empty() => {
                Err(Error::invalid(format!(
                    "`path`: expected an absolute path, or `.` for the working directory, got `{}`",
                    path.display().to_string().escape_debug()
                )))
            }
            _ => self.working_directories.get(caller).await?.ok_or_else(|| {
                Error::invalid("`path` is `.`, and no working directory is set")
                    .hint("call git_set_working_dir first, or pass the repository's absolute path")
            }),
        }
    }

    /// Runs work that blocks on a thread for such work, and stops it when the caller
    /// goes away or the time is up.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        self.readers.pass(work).await
    }
}

impl Turnstile {
    async fn pass<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let _turn = self
            .turns
            .acquire()
            .await
            .map_err(|error| Error::internal("waiting for a turn to read", error))?;
        let cancel = StopWhenDropped::default();
        let flag = cancel.0.clone();
        let span = tracing::Span::current();
        let reading = tokio::task::spawn_blocking(move || span.in_scope(|| work(&flag)));
        tokio::time::timeout(self.timeout, reading)
            .await
            .map_err(|_| {
                let seconds = self.timeout.as_secs_f64();
                Error::new(
                    ErrorKind::LimitExceeded,
                    format!("the work on the repository took longer than {seconds} s"),
                )
                .hint(format!("ask for less, or raise `{}`", self.setting))
            })?
            .map_err(|error| Error::internal("reading the repository", error))?
            .map_err(from_git)
    }
}

/// Tells the thread that nobody waits for its answer any more.
#[derive(Default)]
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn named(repository: &Repository) -> PathBuf {
    repository
        .worktree()
        .unwrap_or_else(|| repository.git_dir())
        .to_owned()
}
