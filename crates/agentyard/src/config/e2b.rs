//! The settings of E2B: sandboxes that we make for its clients, and which service runs commands where `sandbox.backend`
//! is `e2b`.

use std::time::Duration;

use agentyard_model::Secret;
use agentyard_sandbox::{E2bSettings as Settings, PoolSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sandbox::NetworkAccess;

/// E2B: sandboxes that stay, which its clients are given, and the service that commands run on with
/// `sandbox.backend = "e2b"`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct E2bSettings {
    /// The key by which the service knows whose the sandboxes are. For another Agentyard, one of its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<Secret>,
    /// Where sandboxes are made, as `https://host`; by default `https://api.<domain>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_url: Option<String>,
    /// Where all sandboxes are reached; by default each has a host of its own below the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox_url: Option<String>,
    /// The domain of the service.
    pub(crate) domain: String,
    /// What sandboxes are made from.
    pub(crate) template: String,
    /// How long a sandbox stays that nobody renews, in seconds. It is renewed all the while it is used.
    pub(crate) timeout_seconds: u64,
    /// For how long the sandbox of a workspace is kept after its last command, in seconds.
    pub(crate) idle_seconds: u64,
    /// How many sandboxes wait for use; none by default. `3` is a good number where many workspaces come and go.
    pub(crate) pool_min: u32,
    /// How many sandboxes there are at most, with those in use, where some wait for use.
    pub(crate) pool_max: u32,
    /// How old one that waits may get, in seconds.
    pub(crate) pool_ttl_seconds: u64,
    /// Templates that clients of ours may name beside `base` and `code-interpreter-v1`, each as `name=image`, with
    /// `sandbox.backend = "podman"`.
    pub(crate) templates: Vec<String>,
    /// The longest that a sandbox of ours may stay without being asked for again, in hours.
    pub(crate) max_timeout_hours: u32,
    /// How many sandboxes of ours one tenant may have at once, paused ones included.
    pub(crate) max_sandboxes: u32,
    /// How many all tenants may have together.
    pub(crate) max_sandboxes_in_all: u32,
    /// How many sandboxes of ours stand ready before somebody asks for one, with about 4 MB of memory each; from the
    /// first that is made until nobody has wanted one for ten minutes.
    pub(crate) spare: u32,
    /// The most network that a sandbox of ours may have, which its owner can narrow: the Internet by default, as E2B's
    /// clients expect. `sandbox.network = "none"` holds for them too.
    pub(crate) network: NetworkAccess,
    /// Whether what listens in a sandbox of ours can be reached without its token when its owner does not say.
    pub(crate) public_traffic: bool,
}

impl Default for E2bSettings {
    fn default() -> Self {
        let settings = Settings::default();
        let pool = PoolSettings::default();
        Self {
            api_key: None,
            api_url: None,
            sandbox_url: None,
            domain: settings.domain,
            template: settings.template,
            timeout_seconds: settings.lifetime.as_secs(),
            idle_seconds: settings.idle.as_secs(),
            pool_min: 0,
            pool_max: u32::try_from(pool.max).unwrap_or(u32::MAX),
            pool_ttl_seconds: pool.time_to_live.as_secs(),
            templates: Vec::new(),
            max_timeout_hours: 24,
            max_sandboxes: 64,
            max_sandboxes_in_all: 256,
            spare: 32,
            network: NetworkAccess::Full,
            public_traffic: false,
        }
    }
}

impl E2bSettings {
    /// As the sandbox takes them.
    pub(crate) fn client(&self, proxy: Option<Secret>, registries: Vec<String>) -> Settings {
        let pool = PoolSettings {
            min: self.pool_min as usize,
            max: self.pool_max.max(self.pool_min) as usize,
            time_to_live: Duration::from_secs(self.pool_ttl_seconds),
        };
        Settings {
            api_key: self.api_key.clone().unwrap_or_else(|| Secret::new("")),
            api_url: self.api_url.clone(),
            sandbox_url: self.sandbox_url.clone(),
            domain: self.domain.clone(),
            template: self.template.clone(),
            lifetime: Duration::from_secs(self.timeout_seconds.max(15)),
            idle: Duration::from_secs(self.idle_seconds),
            pool: (self.pool_min > 0).then_some(pool),
            proxy,
            registries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_use_unless_somebody_says_so() {
        let mut settings = E2bSettings::default();
        assert_eq!(settings.client(None, Vec::new()).pool, None);
        settings.pool_min = 3;
        let pool = settings.client(None, Vec::new()).pool.unwrap();
        assert_eq!(pool, PoolSettings::default());
        settings.pool_min = 20;
        assert_eq!(settings.client(None, Vec::new()).pool.unwrap().max, 20);
    }
}
