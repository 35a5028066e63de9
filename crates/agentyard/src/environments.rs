//! From the configuration to the settings of Python environments.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentyard_sandbox::Machine;
use agentyard_services::{EnvironmentKind, EnvironmentSettings};

use crate::config::{Config, EnvironmentType};

/// Which environments there are, and where packages come from. Commands look for programs on this path.
pub(crate) fn settings(config: &Config, machine: Machine, search_path: &str) -> EnvironmentSettings {
    let exec = &config.exec;
    EnvironmentSettings {
        directory: config.store.data_dir.clone(),
        kind: kind(exec.environment),
        conda_env_name: exec.conda_env_name.clone(),
        venv_path: exec.venv_path.as_deref().map(absolute),
        uv_venv_path: exec.uv_venv_path.as_deref().map(absolute),
        python: exec.python.as_deref().map(absolute),
        index_url: exec.index_url.clone(),
        extra_index_urls: exec.extra_index_urls.clone(),
        certificates: exec.certificates.as_deref().map(absolute).or_else(of_the_system),
        allow_urls: exec.allow_urls,
        max_bytes: exec.max_environments_mb << 20,
        timeout: Duration::from_millis(exec.install_timeout_ms),
        network: config.sandbox.network.into(),
        search_path: search_path.to_owned(),
        machine,
    }
}

fn kind(configured: EnvironmentType) -> EnvironmentKind {
    match configured {
        EnvironmentType::Venv => EnvironmentKind::Venv,
        EnvironmentType::VenvUv => EnvironmentKind::VenvUv,
        EnvironmentType::Conda => EnvironmentKind::Conda,
    }
}

/// Where systems keep the certificates that they trust: installers bring their own, and would not know those of a
/// company's mirror.
const CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

fn of_the_system() -> Option<PathBuf> {
    let mut candidates = CERTIFICATES.iter().map(Path::new);
    candidates.find(|path| path.is_file()).map(Path::to_owned)
}

/// A path of a variable may be relative to where the server was started.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
