//! What is told of an environment, and of the sandbox around it.

use std::path::PathBuf;

use agentyard_model::Timestamp;
use agentyard_services::{Enforcement, EnvironmentView, KindAvailability, Limits, Weakness};
use schemars::JsonSchema;
use serde::Serialize;

use crate::level::Level;
use crate::output::Output;

/// The environment of a place.
#[derive(Serialize, JsonSchema)]
pub(super) struct EnvironmentConfigView {
    /// `venv`, `venv-uv` or `conda`.
    r#type: &'static str,
    /// The name of the conda environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    conda_name: Option<String>,
    /// Where it is on this machine, when it is not the workspace's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// Where code sees it.
    inside: PathBuf,
    /// Whether it is there; if not, the first execution or installation makes it.
    exists: bool,
    /// An installation in it was broken off; the next one mends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unfinished: bool,
    /// The version of its Python.
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<String>,
    /// How many packages it has.
    packages: usize,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    /// The sandbox that code runs in.
    sandbox: SandboxView,
    /// The types that cannot be had here, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    unavailable: Vec<UnavailableView>,
}

/// The walls around code.
#[derive(Serialize, JsonSchema)]
struct SandboxView {
    /// `bubblewrap`, `podman`, `host` (no walls at all), or `none`: code is refused.
    backend: &'static str,
    /// The most network that a call may ask for.
    network: &'static str,
    /// What one execution may take.
    limits: LimitsView,
    /// What holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    holds: Vec<String>,
    /// What does not hold as it should on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    weaker: Vec<WeaknessView>,
    /// Walls that gave way when they were tried: nothing is run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    breaches: Vec<WeaknessView>,
}

/// What one execution may take.
#[derive(Serialize, JsonSchema)]
struct LimitsView {
    /// How long it may run.
    duration_ms: u64,
    /// Memory of all its processes.
    memory_bytes: u64,
    /// Processes and threads.
    processes: u32,
    /// Hundredths of a processor.
    cpu_percent: u32,
    /// What it may write in all.
    disk_bytes: u64,
    /// How long one file may be.
    file_bytes: u64,
    /// Files that are open at once.
    open_files: u64,
    /// What it may say.
    output_bytes: u64,
}

/// Something that does not hold as it should.
#[derive(Serialize, JsonSchema)]
struct WeaknessView {
    /// What.
    what: String,
    /// Why.
    reason: String,
    /// How to get it.
    remedy: String,
}

/// A type of environment that cannot be had here.
#[derive(Serialize, JsonSchema)]
struct UnavailableView {
    /// Which.
    r#type: &'static str,
    /// Why, and what to do about it.
    reason: String,
}

impl Output for EnvironmentConfigView {
    const LEVELS: &'static [(&'static str, Level)] = &[
        ("sandbox.holds", Level::Full),
        ("sandbox.limits", Level::Standard),
        ("unavailable", Level::Standard),
    ];
}

impl From<EnvironmentView> for EnvironmentConfigView {
    fn from(view: EnvironmentView) -> Self {
        let Enforcement {
            holds,
            weaker,
            breaches,
        } = view.enforcement;
        Self {
            r#type: view.kind.as_str(),
            conda_name: view.conda_name,
            path: view.path,
            inside: view.inside,
            exists: view.exists,
            unfinished: view.unfinished,
            python: view.python,
            packages: view.packages,
            created_at: view.created,
            sandbox: SandboxView {
                backend: view.backend.map_or("none", |backend| backend.as_str()),
                network: view.network.as_str(),
                limits: view.limits.into(),
                holds,
                weaker: weaker.into_iter().map(Into::into).collect(),
                breaches: breaches.into_iter().map(Into::into).collect(),
            },
            unavailable: view.kinds.into_iter().filter_map(unavailable).collect(),
        }
    }
}

fn unavailable(kind: KindAvailability) -> Option<UnavailableView> {
    Some(UnavailableView {
        r#type: kind.kind.as_str(),
        reason: kind.missing?,
    })
}

impl From<Limits> for LimitsView {
    fn from(limits: Limits) -> Self {
        Self {
            duration_ms: u64::try_from(limits.duration.as_millis()).unwrap_or(u64::MAX),
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
            cpu_percent: limits.cpu_percent,
            disk_bytes: limits.disk_bytes,
            file_bytes: limits.file_bytes,
            open_files: limits.open_files,
            output_bytes: limits.output_bytes,
        }
    }
}

impl From<Weakness> for WeaknessView {
    fn from(weakness: Weakness) -> Self {
        Self {
            what: weakness.what,
            reason: weakness.reason,
            remedy: weakness.remedy,
        }
    }
}
