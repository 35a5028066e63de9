//! Sandboxes that stay, their snapshots, and commands in them.

mod connect;
mod create;
mod fork;
mod get;
mod kill;
mod list;
mod metrics;
mod pause;
mod run;
mod set_network;
mod set_timeout;
mod snapshot;
mod snapshot_remove;
mod snapshots;
mod view;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<create::SandboxCreate>(),
    Entry::of::<list::SandboxList>(),
    Entry::of::<get::SandboxGet>(),
    Entry::of::<connect::SandboxConnect>(),
    Entry::of::<run::SandboxRun>(),
    Entry::of::<set_timeout::SandboxSetTimeout>(),
    Entry::of::<set_network::SandboxSetNetwork>(),
    Entry::of::<pause::SandboxPause>(),
    Entry::of::<kill::SandboxKill>(),
    Entry::of::<snapshot::SandboxSnapshot>(),
    Entry::of::<snapshots::SandboxSnapshots>(),
    Entry::of::<snapshot_remove::SandboxSnapshotRemove>(),
    Entry::of::<fork::SandboxFork>(),
    Entry::of::<metrics::SandboxMetrics>(),
];
