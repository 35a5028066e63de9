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
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{self as git, Git, Repository, Roots, TreeSettings};
use agentyard_model::{Caller, Clock};
use agentyard_sandbox::Machine;

use crate::audit::AuditLog;
use crate::error::Result;
use crate::places::Places;
use crate::repos::ConfiguredRepo;
use crate::scratch::ScratchSettings;
use crate::trust::TrustedRepositories;
use crate::turns::Turnstile;
use crate::working_directories::WorkingDirectories;
use crate::workspaces::WorkspaceSettings;
pub use branching::{BranchAnswer, BranchMode, BranchRequest};
pub use changelog::{ChangelogRequest, ChangelogReviews};
pub use changing::In;
pub use checking_out::CheckoutRequest;
pub use cherry_picking::CherryPickRequest;
pub use cleaning::{CleanOutcome, CleanRequest};
pub use cloning::CloneRequest;
pub use committing::CommitRequest;
pub use comparing::{DiffPage, DiffPlace, DiffRequest};
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

/// How many calls may talk to other machines at the same time. They have turns of their own, so that remotes
/// that do not answer keep nobody from reading.
const CONNECTIONS: usize = 16;

/// How many paths each list of a status may have. What does not fit into one answer is
/// fetched by cursor; past this, a tree is not looked at path by path any more.
const MAX_STATUS_PATHS: usize = 100_000;

/// Repositories.
pub struct Repositories {
    places: Places,
    connections: Turnstile,
    clock: Clock,
    git: Arc<Git>,
    wrapup_instructions: Option<PathBuf>,
    audit: AuditLog,
    trust: TrustedRepositories,
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
    /// Where mirrors and workspaces are kept.
    pub trees: TreeSettings,
    /// Repositories that the configuration names.
    pub configured: Vec<ConfiguredRepo>,
    /// How workspaces are kept.
    pub workspaces: WorkspaceSettings,
    /// A file with what the operator wants to be heeded before work is called done.
    pub wrapup_instructions: Option<PathBuf>,
    /// This machine, which is asked for the programs that it has.
    pub machine: Machine,
    /// Where code is kept and run for which nobody names a place.
    pub scratch: ScratchSettings,
}

impl Repositories {
    pub(crate) fn new(
        git: Arc<Git>,
        network_timeout: Duration,
        wrapup_instructions: Option<PathBuf>,
        places: Places,
        audit: AuditLog,
        trust: TrustedRepositories,
        clock: Clock,
    ) -> Self {
        Self {
            places,
            connections: Turnstile::new(CONNECTIONS, network_timeout, "git.network_timeout_ms"),
            clock,
            git,
            wrapup_instructions,
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
        let located = self.places.locate(caller, path).await?;
        let kept = Arc::clone(self.places.kept());
        self.in_background(move |cancel| {
            let directory = located.roots.resolve(&located.directory);
            let repository = directory.and_then(|directory| kept.open(&directory));
            let read = repository.and_then(|repository| work(&repository, cancel));
            read.map_err(|error| located.explained(error))
        })
        .await
    }

    /// Runs work that blocks on a thread for such work, and stops it when the caller
    /// goes away or the time is up.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        self.places.turnstile().pass(work).await
    }
}

fn named(repository: &Repository) -> PathBuf {
    repository
        .worktree()
        .unwrap_or_else(|| repository.git_dir())
        .to_owned()
}
