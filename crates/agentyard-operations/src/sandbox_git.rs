//! Git in sandboxes: a repository cloned into one of its own, worked on there, and pushed from there.

mod clone;
mod diff;
mod pull;
mod push;
mod status;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<clone::SandboxClone>(),
    Entry::of::<status::SandboxStatus>(),
    Entry::of::<diff::SandboxDiff>(),
    Entry::of::<pull::SandboxPull>(),
    Entry::of::<push::SandboxPush>(),
];
