//! Workspaces: a branch in a tree of its own, opened at once, and nothing in it ever lost.
//!
//! A row in the store says what is meant to be, and is written before anything happens on disk; so whatever a crash
//! interrupts is found and finished by whoever comes next ([`Workspaces::tend`]). Who changes a tree holds its lock,
//! within this process and towards others, and leaves a checkpoint behind.

mod closing;
mod conflicts;
mod details;
mod entering;
mod holding;
mod interrupted;
mod leases;
mod measures;
mod naming;
mod opening;
mod reference;
mod refreshing;
mod syncing;
mod tending;
mod undoing;
mod visiting;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentyard_git::{Forecasts, Git, KeptRepositories, LockFiles, Trees};
use agentyard_model::{Clock, WorkspaceId};
use agentyard_sandbox::Interpreters;
use agentyard_store::Store;

use crate::audit::AuditLog;
use crate::homes::Homes;
use crate::repos::Repos;
use crate::turns::{StopWhenDropped, Turns, Turnstile};
use crate::working_directories::WorkingDirectories;
pub use closing::{CloseRequest, Closed};
pub use conflicts::{ConflictsRequest, ForeseenConflict, Opponent, WorkspaceConflicts};
pub use details::{WorkspaceDetails, WorkspaceListing};
use entering::Attached;
pub(crate) use entering::Entered;
pub(crate) use holding::TreeHold;
pub(crate) use naming::branch_of;
pub use opening::{OpenRequest, Opened};
pub use reference::WorkspaceReference;
pub use syncing::{SyncRequest, Synced};
pub use undoing::Undone;

/// How workspaces are kept.
#[derive(Debug, Clone)]
pub struct WorkspaceSettings {
    /// How many of one repository may be open at once.
    pub max_per_repo: u32,
    /// After how long without use one is closed.
    pub time_to_live: Duration,
    /// For how long after its last use one is not taken from its owner.
    pub lease: Duration,
    /// How many checkpoints each has.
    pub max_checkpoints: usize,
    /// How old what is known of a remote may be when a workspace is opened.
    pub fetch_after: Duration,
}

impl Default for WorkspaceSettings {
    fn default() -> Self {
        Self {
            max_per_repo: 10,
            time_to_live: Duration::from_secs(7 * 24 * 60 * 60),
            lease: Duration::from_secs(30 * 60),
            max_checkpoints: 200,
            fetch_after: Duration::from_secs(60),
        }
    }
}

/// Workspaces.
#[derive(Clone)]
pub struct Workspaces(Arc<Inner>);

struct Inner {
    store: Store,
    repos: Repos,
    working_directories: Arc<WorkingDirectories>,
    trees: Arc<Trees>,
    homes: Homes,
    /// Those that work in a tree are ended with it.
    interpreters: Option<Interpreters>,
    locks: LockFiles,
    git: Arc<Git>,
    kept: Arc<KeptRepositories>,
    turns: Arc<Turns>,
    /// For work on trees; those that talk to other machines go through the repositories' own.
    turnstile: Turnstile,
    audit: AuditLog,
    settings: WorkspaceSettings,
    clock: Clock,
    /// The trees that this process has at hand.
    attached: Mutex<HashMap<WorkspaceId, Arc<Attached>>>,
    leases: leases::NotedUses,
    refreshed: refreshing::Refreshed,
    measures: measures::Measures,
    forecasts: Arc<Forecasts>,
    /// What is done in the background stops with this.
    background: StopWhenDropped,
}

/// How many trees are opened, closed or synchronised at the same time.
const AT_ONCE: usize = 8;

/// What workspaces stand on.
pub(crate) struct WorkspacePorts {
    pub(crate) store: Store,
    pub(crate) repos: Repos,
    pub(crate) working_directories: Arc<WorkingDirectories>,
    pub(crate) trees: Arc<Trees>,
    pub(crate) homes: Homes,
    pub(crate) interpreters: Option<Interpreters>,
    pub(crate) locks: LockFiles,
    pub(crate) git: Arc<Git>,
    pub(crate) kept: Arc<KeptRepositories>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) audit: AuditLog,
    pub(crate) clock: Clock,
    /// How long one piece of work on a tree may take.
    pub(crate) timeout: Duration,
}

impl Workspaces {
    pub(crate) fn new(ports: WorkspacePorts, settings: WorkspaceSettings) -> Self {
        let measures = measures::Measures::new(ports.store.clone());
        Self(Arc::new(Inner {
            store: ports.store,
            repos: ports.repos,
            working_directories: ports.working_directories,
            trees: ports.trees,
            homes: ports.homes,
            interpreters: ports.interpreters,
            locks: ports.locks,
            git: ports.git,
            kept: ports.kept,
            turns: ports.turns,
            turnstile: Turnstile::new(AT_ONCE, ports.timeout, "git.network_timeout_ms"),
            audit: ports.audit,
            settings,
            clock: ports.clock,
            attached: Mutex::default(),
            leases: leases::NotedUses::default(),
            refreshed: refreshing::Refreshed::default(),
            measures,
            forecasts: Arc::default(),
            background: StopWhenDropped::default(),
        }))
    }
}
