//! Whom a command may talk to, as a caller asks for it.

use agentyard_services::Network;
use schemars::JsonSchema;
use serde::Deserialize;

/// Whom it may talk to.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum NetworkAsked {
    /// Nobody.
    None,
    /// Package registries.
    Registry,
    /// The Internet.
    Full,
}

impl From<NetworkAsked> for Network {
    fn from(asked: NetworkAsked) -> Self {
        match asked {
            NetworkAsked::None => Self::None,
            NetworkAsked::Registry => Self::Registry,
            NetworkAsked::Full => Self::Full,
        }
    }
}
