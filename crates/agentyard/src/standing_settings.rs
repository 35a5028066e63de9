//! How sandboxes that stay are kept, as the settings say.

use std::time::Duration;

use agentyard_services::SandboxSettings;

use crate::config::{Config, SandboxBackend};

/// The settings of the services.
pub(crate) fn sandboxes(config: &Config) -> SandboxSettings {
    let user = config.sandbox.user;
    // Where Agentyard is root, sandboxes of this machine are another user's.
    let is_another = rustix::process::geteuid().is_root()
        && !matches!(config.sandbox.backend, SandboxBackend::Host | SandboxBackend::E2b);
    SandboxSettings {
        owner: is_another.then_some((user, user)),
        git_timeout: Duration::from_secs(config.git.sandbox_timeout_seconds),
        git_max_retries: config.git.sandbox_max_retries,
        git_own_credentials: config.git.sandbox_credentials,
        ..SandboxSettings::default()
    }
}
