//! The settings of the sandbox: what commands and code see of this machine, and what they may take of it.

use std::path::PathBuf;

use agentyard_model::Secret;
use agentyard_sandbox::{IMAGE_REGISTRIES, Limits, Network, SANDBOX_USER};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MEBIBYTE: u64 = 1024 * 1024;

/// Where commands run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxSettings {
    /// How commands and code are isolated. `auto` is bubblewrap; where that is not installed, commands are refused, or
    /// run on the host when `allow_host` says so.
    pub(crate) backend: SandboxBackend,
    /// Whether commands of callers may run on this host itself, without isolation: they can read and change whatever the
    /// user can who runs Agentyard. For `backend = "host"`, and for `auto` where bubblewrap is not installed.
    pub(crate) allow_host: bool,
    /// Whether commands run although walls of the sandbox gave way when they were tried; `agentyard doctor` names them.
    pub(crate) allow_weaker: bool,
    /// The user and group that commands have when Agentyard runs as root. Nobody else should have this number.
    pub(crate) user: u32,
    /// The most network that a call may ask for; without asking it has none.
    pub(crate) network: NetworkAccess,
    /// Hosts of package registries that `registry` reaches beside the public ones: `pypi.example.org`, `*.example.org`,
    /// each with `:port` when it is an unusual one. A host that is listed itself may have a private address.
    pub(crate) registries: Vec<String>,
    /// The proxy through which this machine itself reaches the Internet, as `http://host:port`, with user and password
    /// where it asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<Secret>,
    /// How much memory all processes of one command may use together, in MiB.
    pub(crate) memory_mb: u64,
    /// How many processes and threads one command may have.
    pub(crate) processes: u32,
    /// How much of the processors one command may use, in hundredths of one.
    pub(crate) cpu_percent: u32,
    /// How much one command may write in all, in MiB.
    pub(crate) disk_mb: u64,
    /// How long one file may be that it writes, in MiB.
    pub(crate) file_mb: u64,
    /// How many files each process may have open.
    pub(crate) open_files: u64,
    /// Directories that commands may read at their own paths, beside the system's: tools that are installed elsewhere.
    pub(crate) read_only: Vec<PathBuf>,
    /// The image in which commands run with `backend = "podman"`, when neither session nor project names one.
    pub(crate) image: String,
    /// The registries that images may come from.
    pub(crate) image_registries: Vec<String>,
    /// Commands that prepare that image, one after the other; what comes of them is kept as a layer.
    pub(crate) setup: Vec<String>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            backend: SandboxBackend::Auto,
            allow_host: false,
            allow_weaker: false,
            user: SANDBOX_USER,
            network: NetworkAccess::Registry,
            registries: Vec::new(),
            proxy: None,
            memory_mb: limits.memory_bytes / MEBIBYTE,
            processes: limits.processes,
            cpu_percent: limits.cpu_percent,
            disk_mb: limits.disk_bytes / MEBIBYTE,
            file_mb: limits.file_bytes / MEBIBYTE,
            open_files: limits.open_files,
            read_only: Vec::new(),
            image: "docker.io/library/debian:stable-slim".to_owned(),
            image_registries: IMAGE_REGISTRIES.iter().map(|host| (*host).to_owned()).collect(),
            setup: Vec::new(),
        }
    }
}

impl SandboxSettings {
    /// What one command may take, but for its time and its output.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_mb.saturating_mul(MEBIBYTE),
            processes: self.processes,
            cpu_percent: self.cpu_percent,
            disk_bytes: self.disk_mb.saturating_mul(MEBIBYTE),
            file_bytes: self.file_mb.saturating_mul(MEBIBYTE),
            open_files: self.open_files,
            ..Limits::default()
        }
    }
}

/// How commands are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum SandboxBackend {
    /// The best that is installed.
    #[default]
    Auto,
    /// Namespaces, by bubblewrap.
    Bubblewrap,
    /// Containers, by podman.
    Podman,
    /// Machines of a service that speaks E2B's protocol: see `e2b`.
    E2b,
    /// Not at all.
    Host,
}

/// Whom commands may talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum NetworkAccess {
    /// Nobody.
    None,
    /// Package registries.
    #[default]
    Registry,
    /// Everybody on the Internet.
    Full,
}

impl From<NetworkAccess> for Network {
    fn from(access: NetworkAccess) -> Self {
        match access {
            NetworkAccess::None => Self::None,
            NetworkAccess::Registry => Self::Registry,
            NetworkAccess::Full => Self::Full,
        }
    }
}
