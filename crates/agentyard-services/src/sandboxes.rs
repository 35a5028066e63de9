//! Sandboxes that stay: each a small machine that somebody was given for a while.
//!
//! A row in the store says what is meant to be, and is written before anything happens on disk; so whatever a crash
//! interrupts is found and finished by whoever comes next ([`Sandboxes::tend`]). What runs is kept in memory ([`kept`]), and
//! whoever changes what a sandbox is takes its turn. Its files are in a yard ([`yards`]), which one process at a time uses.

mod checking;
mod creating;
mod ending;
mod exchanging;
mod forking;
mod kept;
mod lifecycle;
mod listing;
mod metrics;
mod network;
mod owners;
mod recording;
mod running;
mod snapshots;
mod spares;
mod standing_up;
mod templates;
mod tending;
mod visiting;
mod yards;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agentyard_git::LockFiles;
use agentyard_model::{Clock, Sandbox as Row, SandboxId, Secret};
use agentyard_sandbox::{Limits, Network, Sandbox};
use agentyard_store::Store;
use tokio::sync::{Notify, Semaphore};

use crate::audit::AuditLog;
use crate::identities::Identities;
pub use creating::CreateSandbox;
use kept::{EndWithThis, Kept};
pub use metrics::SandboxSample;
pub use running::{SandboxCommand, SandboxRan, SandboxSaid};
use spares::Spares;
pub use visiting::{SignedFile, Visit};
use yards::Yards;

/// How long a sandbox stays when nobody says.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// How many sandboxes are stood up at the same time. More would only take turns on the cores.
const STOOD_UP_AT_ONCE: usize = 4;

/// How sandboxes are kept.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// Which image each template is, where sandboxes are made from images.
    pub templates: BTreeMap<String, String>,
    /// The longest that a sandbox may stay without being asked for again.
    pub max_timeout: Duration,
    /// How many may be there at once, paused ones included.
    pub most: u32,
    /// How many of one tenant.
    pub most_of_tenant: u32,
    /// How many are stood up before somebody asks for them.
    pub spare: usize,
    /// The most network that one may have, where commands may have any at all.
    pub network: Network,
    /// Whether what listens in a sandbox can be reached without a token when its owner does not say.
    pub public_traffic: bool,
    /// To whom their files are given, where that is not who runs this process.
    pub owner: Option<(u32, u32)>,
    /// How long one stays after its last use into which a repository was cloned, and how long one call of git may take.
    pub git_timeout: Duration,
    /// How often a push from one is tried.
    pub git_max_retries: u32,
    /// Whether git in them uses the server's own tokens for who has none.
    pub git_own_credentials: bool,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            templates: BTreeMap::new(),
            max_timeout: Duration::from_secs(24 * 60 * 60),
            most: 256,
            most_of_tenant: 64,
            spare: 1,
            network: Network::Full,
            public_traffic: false,
            owner: None,
            git_timeout: DEFAULT_TIMEOUT,
            git_max_retries: 3,
            git_own_credentials: false,
        }
    }
}

impl SandboxSettings {
    /// The most network that a sandbox may have where commands may have this much: who lets commands reach nobody means
    /// all of them.
    pub(crate) fn network_beside(&self, commands: Network) -> Network {
        match commands {
            Network::None => Network::None,
            Network::Registry | Network::Full => self.network,
        }
    }
}

/// Sandboxes that stay. Cheap to clone.
#[derive(Clone)]
pub struct Sandboxes(Arc<Inner>);

/// What keeping sandboxes takes.
pub(crate) struct SandboxParts {
    pub(crate) settings: SandboxSettings,
    pub(crate) store: Store,
    pub(crate) audit: AuditLog,
    pub(crate) identities: Identities,
    pub(crate) clock: Clock,
    pub(crate) locks: LockFiles,
    /// Where what is theirs on disk is.
    pub(crate) directory: PathBuf,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) limits: Limits,
    pub(crate) network: Network,
}

struct Inner {
    parts: SandboxParts,
    yards: Yards,
    kept: Mutex<HashMap<SandboxId, Arc<Kept>>>,
    standing_up: Semaphore,
    spares: Spares,
    /// Told when something ends sooner than was thought.
    sooner: Arc<Notify>,
    tending: OnceLock<EndWithThis>,
}

/// A sandbox, and what it may take.
#[derive(Debug, Clone)]
pub struct SandboxDetails {
    /// What is on record of it.
    pub row: Row,
    /// How many processors it may use.
    pub cpu_count: u32,
    /// How much memory.
    pub memory_bytes: u64,
    /// How much disk.
    pub disk_bytes: u64,
}

/// A sandbox, and what one needs to talk to it.
#[derive(Debug, Clone)]
pub struct SandboxAccess {
    /// The sandbox.
    pub sandbox: SandboxDetails,
    /// Opens everything in it.
    pub access_token: Secret,
    /// Opens what listens in it.
    pub traffic_token: Secret,
    /// Whether it was paused before.
    pub resumed: bool,
}

impl Sandboxes {
    pub(crate) fn new(parts: SandboxParts) -> Self {
        Self(Arc::new(Inner {
            yards: Yards::default(),
            kept: Mutex::default(),
            standing_up: Semaphore::new(STOOD_UP_AT_ONCE),
            spares: Spares::default(),
            sooner: Arc::default(),
            tending: OnceLock::new(),
            parts,
        }))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<SandboxId, Arc<Kept>>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn details(&self, row: Row) -> SandboxDetails {
        let limits = &self.0.parts.limits;
        SandboxDetails {
            row,
            cpu_count: limits.cpu_percent.div_ceil(100).max(1),
            memory_bytes: limits.memory_bytes,
            disk_bytes: limits.disk_bytes,
        }
    }
}
