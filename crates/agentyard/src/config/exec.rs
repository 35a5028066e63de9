//! The settings of code: where it is kept, and the Python environments that it runs in.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Python code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExecSettings {
    /// Where code of the local tenant is kept and run when a call names no workspace. Without it that is the working
    /// directory, and for callers who have none a directory of their own in the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code_storage_dir: Option<PathBuf>,
    /// What sort of environment code runs in until `configure_environment` says otherwise.
    pub(crate) environment: EnvironmentType,
    /// The name of the conda environment, with `environment = "conda"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conda_env_name: Option<String>,
    /// An environment of your own, with `environment = "venv"`; without it each workspace has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) venv_path: Option<PathBuf>,
    /// The same with `environment = "venv-uv"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uv_venv_path: Option<PathBuf>,
    /// The interpreter that environments are made with; without it the first Python 3 on the search path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<PathBuf>,
    /// Where packages come from.
    pub(crate) index_url: String,
    /// Where packages come from that are not there.
    pub(crate) extra_index_urls: Vec<String>,
    /// Certificates that packages' servers are checked with, as a file in PEM; the system's when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificates: Option<PathBuf>,
    /// Whether packages may be installed by address (`name @ https://…`) and not only by name.
    pub(crate) allow_urls: bool,
    /// How much all environments may hold together, in MiB; those that were used least recently go first.
    pub(crate) max_environments_mb: u64,
    /// How long one installation may take, in milliseconds.
    pub(crate) install_timeout_ms: u64,
    /// How long code may run, in milliseconds. A call may ask for less.
    pub(crate) timeout_ms: u64,
}

impl Default for ExecSettings {
    fn default() -> Self {
        Self {
            code_storage_dir: None,
            environment: EnvironmentType::Venv,
            conda_env_name: None,
            venv_path: None,
            uv_venv_path: None,
            python: None,
            index_url: "https://pypi.org/simple".to_owned(),
            extra_index_urls: Vec::new(),
            certificates: None,
            allow_urls: false,
            max_environments_mb: 20_480,
            install_timeout_ms: 600_000,
            timeout_ms: 600_000,
        }
    }
}

/// What sort of environment code runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum EnvironmentType {
    /// Made by Python itself.
    #[default]
    Venv,
    /// Made by uv.
    VenvUv,
    /// Made by conda or micromamba.
    Conda,
}
