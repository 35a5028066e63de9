//! Sandboxes that stay: a small machine that somebody was given for a while.

mod ids;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{TenantId, Timestamp};
pub use ids::{InvalidSandboxId, SandboxId, SnapshotId};

/// How far a sandbox is in its life. It is written down before anything is done on disk, so that what a crash left half
/// done is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SandboxState {
    /// It is being made, and nobody was told of it yet.
    Starting,
    /// It answers.
    Running,
    /// Its processes are frozen, or gone; its files are kept.
    Paused,
    /// What is left of it is being removed.
    Ending,
}

impl SandboxState {
    /// Those in which callers can find a sandbox.
    pub const VISIBLE: &'static [Self] = &[Self::Running, Self::Paused];

    /// The state as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Ending => "ending",
        }
    }
}

impl fmt::Display for SandboxState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SandboxState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Starting, Self::Running, Self::Paused, Self::Ending]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(())
    }
}

/// What happens to a sandbox when its time is up, and after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lifecycle {
    /// It is paused then, and not removed.
    pub auto_pause: bool,
    /// While it is paused, whoever talks to it wakes it.
    pub auto_resume: bool,
    /// When it is paused because its time is up, only its files are kept.
    pub files_only: bool,
}

/// Whom a sandbox may talk to, and who may talk to it, as its owner said it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxNetwork {
    /// Whether it may reach the Internet; what the settings allow when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet: Option<bool>,
    /// If there are any, nobody but these: host names, `*.` before one for all below it, addresses and blocks of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_out: Vec<String>,
    /// Not these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_out: Vec<String>,
    /// Whether its ports answer without a token; what the settings say when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_traffic: Option<bool>,
}

/// A sandbox as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Which one.
    pub id: SandboxId,
    /// Whose.
    pub tenant: TenantId,
    /// Who made it, as [`crate::Subject`] displays itself.
    pub owner: String,
    /// From what it was made: a template's name, or a snapshot's id.
    pub template: String,
    /// How far it is.
    pub state: SandboxState,
    /// What its owner noted on it.
    pub metadata: BTreeMap<String, String>,
    /// What happens when its time is up.
    pub lifecycle: Lifecycle,
    /// Whom it may talk to.
    pub network: SandboxNetwork,
    /// From which image it is made, where sandboxes are made from images.
    pub image: Option<String>,
    /// Where its files are: a directory that one process at a time uses.
    pub keeper: String,
    /// Whether its processes are there, also while it is paused.
    pub in_memory: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last began to run.
    pub started_at: Timestamp,
    /// When its time is up.
    pub ends_at: Timestamp,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
}

/// A sandbox that somebody wants.
#[derive(Debug, Clone)]
pub struct NewSandbox {
    /// Which id it gets.
    pub id: SandboxId,
    /// Whose.
    pub tenant: TenantId,
    /// Who makes it.
    pub owner: String,
    /// From what it is made.
    pub template: String,
    /// From which image, where sandboxes are made from images.
    pub image: Option<String>,
    /// What its owner noted on it.
    pub metadata: BTreeMap<String, String>,
    /// What every program in it has in its environment; it is sealed before it is written.
    pub environment: BTreeMap<String, String>,
    /// What happens when its time is up.
    pub lifecycle: Lifecycle,
    /// Whom it may talk to.
    pub network: SandboxNetwork,
    /// Where its files are going to be.
    pub keeper: String,
    /// How long it is to stay.
    pub timeout: Duration,
    /// By what its owner would recognise it when it asks again.
    pub idempotency_key: Option<String>,
    /// How many of its tenant may be there at once.
    pub most_of_tenant: u32,
    /// How many of all tenants may be there at once.
    pub most: u32,
}

/// Which sandboxes are wanted; a field left empty excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct SandboxFilter {
    /// Those in one of these states.
    pub states: Vec<SandboxState>,
    /// Those with all of this noted on them.
    pub metadata: BTreeMap<String, String>,
    /// Those of this owner.
    pub owner: Option<String>,
    /// Those made from this template.
    pub template: Option<String>,
    /// Those that began to run at this instant or later.
    pub since: Option<Timestamp>,
    /// The oldest first, and not the newest.
    pub oldest_first: bool,
}

/// The files of a sandbox as they were, of which others can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Which one.
    pub id: SnapshotId,
    /// Whose.
    pub tenant: TenantId,
    /// Who made it.
    pub owner: String,
    /// What it is called, if anything.
    pub name: Option<String>,
    /// Of which sandbox, which may be gone.
    pub sandbox: SandboxId,
    /// The template that that was made from, in the end.
    pub template: String,
    /// The image that that was made from, where sandboxes are made from images.
    pub image: Option<String>,
    /// Where its files are, or who asked for it where they are not on this machine.
    pub keeper: String,
    /// What the service calls it that keeps it, where its files are not on this machine.
    pub remote: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back_as_itself() {
        for state in [
            SandboxState::Starting,
            SandboxState::Running,
            SandboxState::Paused,
            SandboxState::Ending,
        ] {
            assert_eq!(state.to_string().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert!("gone".parse::<SandboxState>().is_err());
    }
}
