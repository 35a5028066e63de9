//! Workspaces: a branch in its own tree.

mod checkpoints;
mod close;
mod conflicts;
mod get;
mod list;
mod open;
mod sync;
mod undo;
mod view;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<open::WorkspaceOpen>(),
    Entry::of::<list::WorkspaceList>(),
    Entry::of::<get::WorkspaceGet>(),
    Entry::of::<sync::WorkspaceSync>(),
    Entry::of::<close::WorkspaceClose>(),
    Entry::of::<undo::WorkspaceUndo>(),
    Entry::of::<checkpoints::WorkspaceCheckpoints>(),
    Entry::of::<conflicts::WorkspaceConflicts>(),
];
