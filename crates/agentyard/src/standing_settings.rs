//! How sandboxes that stay are kept, as the settings say.

use std::time::Duration;

use agentyard_services::SandboxSettings;

use crate::config::Config;

/// The settings of the services; their files are given to this user and group, where that is another's.
pub(crate) fn sandboxes(config: &Config, owner: Option<(u32, u32)>) -> SandboxSettings {
    SandboxSettings {
        owner,
        git_timeout: Duration::from_secs(config.git.sandbox_timeout_seconds),
        git_max_retries: config.git.sandbox_max_retries,
        git_own_credentials: config.git.sandbox_credentials,
        ..SandboxSettings::default()
    }
}
