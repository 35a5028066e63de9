//! What is told of sandboxes and snapshots.

use std::collections::BTreeMap;

use agentyard_model::{SandboxId, SandboxState, Snapshot, SnapshotId, Timestamp};
use agentyard_services::{SandboxAccess, SandboxDetails};
use schemars::JsonSchema;
use serde::Serialize;

use crate::level::{Level, LevelledField};
use crate::output::Output;

/// A sandbox.
#[derive(Serialize, JsonSchema)]
pub(super) struct SandboxView {
    /// Names it.
    pub(super) id: SandboxId,
    /// From what it was made.
    template: String,
    state: SandboxState,
    /// A paused one has its files, and its processes no more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    files_only: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// Who made it.
    owner: String,
    /// When it was made.
    pub(super) created_at: Timestamp,
    /// When it last began to run.
    started_at: Timestamp,
    /// When its time is up, while it runs.
    ends_at: Timestamp,
    /// It is paused then, and not removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    auto_pause: bool,
    /// While it is paused, whoever talks to it wakes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    auto_resume: bool,
    /// Whether it may reach the Internet, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    internet: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    allow_out: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    deny_out: Vec<String>,
    /// Whether its ports answer without a token, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_traffic: Option<bool>,
    cpu_count: u32,
    memory_bytes: u64,
    disk_bytes: u64,
}

/// What is told only to those who want to know much.
const LEVELS: &[LevelledField] = &[
    ("owner", Level::Standard),
    ("created_at", Level::Full),
    ("cpu_count", Level::Full),
    ("memory_bytes", Level::Full),
    ("disk_bytes", Level::Full),
];

impl Output for SandboxView {
    const LEVELS: &'static [LevelledField] = LEVELS;
}

impl From<SandboxDetails> for SandboxView {
    fn from(details: SandboxDetails) -> Self {
        let row = details.row;
        Self {
            id: row.id,
            template: row.template,
            state: row.state,
            files_only: row.state == SandboxState::Paused && !row.in_memory,
            metadata: row.metadata,
            owner: row.owner,
            created_at: row.created_at,
            started_at: row.started_at,
            ends_at: row.ends_at,
            auto_pause: row.lifecycle.auto_pause,
            auto_resume: row.lifecycle.auto_resume,
            internet: row.network.internet,
            allow_out: row.network.allow_out,
            deny_out: row.network.deny_out,
            public_traffic: row.network.public_traffic,
            cpu_count: details.cpu_count,
            memory_bytes: details.memory_bytes,
            disk_bytes: details.disk_bytes,
        }
    }
}

/// A sandbox that can be talked to.
#[derive(Serialize, JsonSchema)]
pub(super) struct AccessView {
    #[serde(flatten)]
    sandbox: SandboxView,
    /// It was paused before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resumed: bool,
}

impl Output for AccessView {
    const LEVELS: &'static [LevelledField] = LEVELS;
}

/// What opens it is not shown: a model has no use for that.
impl From<SandboxAccess> for AccessView {
    fn from(access: SandboxAccess) -> Self {
        Self {
            sandbox: access.sandbox.into(),
            resumed: access.resumed,
        }
    }
}

/// The files of a sandbox as they were.
#[derive(Serialize, JsonSchema)]
pub(super) struct SnapshotView {
    /// Names it; `sandbox_create` takes it as `template`.
    pub(super) id: SnapshotId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of which sandbox.
    sandbox: SandboxId,
    /// From what that was made.
    template: String,
    pub(super) created_at: Timestamp,
    /// Who made it.
    owner: String,
}

impl Output for SnapshotView {
    const LEVELS: &'static [LevelledField] = &[("owner", Level::Full)];
}

impl From<Snapshot> for SnapshotView {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            id: snapshot.id,
            name: snapshot.name,
            sandbox: snapshot.sandbox,
            template: snapshot.template,
            created_at: snapshot.created_at,
            owner: snapshot.owner,
        }
    }
}
