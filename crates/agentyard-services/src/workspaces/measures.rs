//! What is counted of workspaces.

use std::time::Duration;

use agentyard_model::Workspace;
use agentyard_store::Store;

pub(super) struct Measures;

impl Measures {
    pub(super) fn new(_store: Store) -> Self {
        Self
    }
    pub(super) fn opened(&self, _row: &Workspace, _took: Duration) {}
    pub(super) fn reused(&self, _row: &Workspace) {}
    pub(super) fn evicted(&self, _row: &Workspace) {}
    pub(super) fn closed(&self, _row: &Workspace, _took: Duration) {}
    pub(super) fn synced(&self, _row: &Workspace, _took: Duration, _conflicts: usize) {}
    pub(super) fn undone(&self, _row: &Workspace, _took: Duration) {}
    pub(super) fn waited(&self, _took: Duration) {}
}
