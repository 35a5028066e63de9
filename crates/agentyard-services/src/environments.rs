//! Python environments: what code of callers runs in, and what is installed there.
//!
//! An environment belongs to a place: a workspace, or a directory. It is made on first use, inside the sandbox and by the
//! sandbox's own user, and is kept in the data directory; or it is one that the operator's settings or the tree itself
//! name. Many may use it at once, and one alone may change it ([`turn`]).
//!
//! What an environment holds was written by code of strangers: packages run programs when they are built. So nothing in
//! it is believed. What Agentyard knows of it stands beside it, where no command reaches ([`record`]).

mod choice;
mod commands;
mod describing;
mod entering;
mod failure;
mod files_on_disk;
mod installing;
mod kind;
mod making;
mod performing;
mod record;
mod requested;
mod requirement;
mod room;
mod target;
mod tools;
mod turn;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentyard_git::LockFiles;
use agentyard_model::Clock;
use agentyard_sandbox::{Interpreter, Limits, Machine, Network, Sandbox};

use crate::audit::AuditLog;
use crate::error::{Error, Result};
use crate::homes;
use crate::places::Places;
use crate::runs::Runs;
pub use choice::ConfigureEnvironment;
pub use describing::{CheckedPackage, CheckedPackages, EnvironmentView, KindAvailability};
pub(crate) use entering::InUse;
pub use failure::{FailureKind, InstallFailure};
pub use installing::{ChangedDistribution, InstallAnswer, InstallReport, InstallRequest};
pub use kind::{EnvironmentKind, UnknownEnvironmentKind};
pub(crate) use target::Owner;
use turn::EnvironmentTurns;

/// Python environments. Cheap to clone.
#[derive(Clone)]
pub struct Environments(Arc<Inner>);

struct Inner {
    settings: EnvironmentSettings,
    sandbox: Option<Arc<dyn Sandbox>>,
    limits: Limits,
    places: Places,
    audit: AuditLog,
    clock: Clock,
    turns: EnvironmentTurns,
    runs: Arc<Runs>,
    /// The interpreter that new environments are made with, once it was looked for.
    interpreter: Mutex<Option<Interpreter>>,
}

/// Which environments there are, and where what is installed comes from.
#[derive(Debug, Clone)]
pub struct EnvironmentSettings {
    /// The data directory.
    pub directory: PathBuf,
    /// What kind of environment a place has that has chosen none.
    pub kind: EnvironmentKind,
    /// An environment of the machine's own conda that is used in place of one of ours.
    pub conda_env_name: Option<String>,
    /// A virtual environment of this machine that is used in place of one of ours.
    pub venv_path: Option<PathBuf>,
    /// The same, for those that uv fills.
    pub uv_venv_path: Option<PathBuf>,
    /// The interpreter with which environments are made, in place of the first on the search path.
    pub python: Option<PathBuf>,
    /// The index from which packages come.
    pub index_url: String,
    /// Further indexes.
    pub extra_index_urls: Vec<String>,
    /// The certificates by which indexes are trusted, in place of the installer's own.
    pub certificates: Option<PathBuf>,
    /// Whether packages may come from addresses outside of the indexes.
    pub allow_urls: bool,
    /// How much all environments may take together, in bytes.
    pub max_bytes: u64,
    /// How long one installation may take.
    pub timeout: Duration,
    /// The most that a command may have of the network.
    pub network: Network,
    /// Where commands look for programs.
    pub search_path: String,
    /// Where interpreters and tools are found.
    pub machine: Machine,
}

/// What environments are made of.
pub(crate) struct EnvironmentParts {
    pub(crate) settings: EnvironmentSettings,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    pub(crate) limits: Limits,
    pub(crate) places: Places,
    pub(crate) runs: Arc<Runs>,
    pub(crate) audit: AuditLog,
    pub(crate) locks: LockFiles,
    pub(crate) clock: Clock,
}

impl Environments {
    pub(crate) fn new(parts: EnvironmentParts) -> Self {
        Self(Arc::new(Inner {
            turns: EnvironmentTurns::new(parts.locks, parts.clock.clone()),
            settings: parts.settings,
            sandbox: parts.sandbox,
            limits: parts.limits,
            places: parts.places,
            audit: parts.audit,
            clock: parts.clock,
            runs: parts.runs,
            interpreter: Mutex::default(),
        }))
    }

    fn sandbox(&self) -> Result<&Arc<dyn Sandbox>> {
        self.0.sandbox.as_ref().ok_or_else(crate::runs::no_sandbox)
    }

    /// The directory in which environments are.
    fn directory(&self) -> PathBuf {
        self.0.settings.directory.join(homes::ENVIRONMENTS)
    }

    /// Runs work that blocks on a thread for such work.
    async fn blocking<T: Send + 'static>(
        &self,
        attempted: &'static str,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let environments = self.clone();
        tokio::task::spawn_blocking(move || work(&environments))
            .await
            .map_err(|error| Error::internal(attempted, error))?
    }
}
