//! The settings of builds and other commands: how long they run, and how many at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What commands may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BuildSettings {
    /// How long one command may run, in milliseconds. A call may ask for less.
    pub(crate) timeout_ms: u64,
    /// How many bytes one command may say before it is ended. What is kept of it is much less.
    pub(crate) max_output_bytes: u64,
    /// How many commands run at once; others wait.
    pub(crate) max_at_once: u32,
    /// How long a command goes on when the last client that followed it has left, in milliseconds: a client that was cut
    /// off can come back within that time.
    pub(crate) linger_ms: u64,
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self {
            timeout_ms: 3_600_000,
            max_output_bytes: 1024 * 1024 * 1024,
            max_at_once: 16,
            linger_ms: 10_000,
        }
    }
}
