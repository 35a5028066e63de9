//! The settings of workspaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Workspaces: working trees of registered repositories, one for each branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkspaceSettings {
    /// How working trees are made. `auto` takes the first of the others that this machine offers; `agentyard doctor`
    /// says which that is.
    pub(crate) way: WorkspaceWay,
    /// Whether a process that does not run as root enters a user namespace of the data directory, in which it may
    /// mount overlayfs. Inside, files of root and of other users seem to belong to nobody, and `sudo` does not work.
    pub(crate) namespace: NamespaceUse,
    /// How many workspaces of one repository are open at most. The one that was used least recently is closed for
    /// another, after its unsaved work was kept.
    pub(crate) max_per_repo: u32,
    /// After how many hours without use a workspace is closed, after its unsaved work was kept.
    pub(crate) ttl_hours: u32,
    /// For how many minutes without use a workspace stays reserved for whoever opened it.
    pub(crate) lease_minutes: u32,
    /// How many checkpoints of one workspace are kept; the oldest go first.
    pub(crate) max_checkpoints: u32,
}

impl Default for WorkspaceSettings {
    fn default() -> Self {
        Self {
            way: WorkspaceWay::Auto,
            namespace: NamespaceUse::Auto,
            max_per_repo: 10,
            ttl_hours: 168,
            lease_minutes: 30,
            max_checkpoints: 200,
        }
    }
}

/// How working trees are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum WorkspaceWay {
    /// The first of the others that works here.
    #[default]
    Auto,
    /// A copy-on-write view of a checked-out commit, mounted.
    Overlay,
    /// A copy of a checked-out commit that shares its blocks.
    Reflink,
    /// A checkout of its own.
    Checkout,
}

/// Whether the namespace is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum NamespaceUse {
    /// Where the kernel allows it, without root, and when workspaces are offered.
    #[default]
    Auto,
    /// Never.
    Off,
}
