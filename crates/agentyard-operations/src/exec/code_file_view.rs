//! What is told of a code file that was written.

use agentyard_services::Written;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::Output;

/// A code file that was written.
#[derive(Serialize, JsonSchema)]
pub(super) struct CodeFileView {
    /// Where it is in the workspace: what the other tools take as `path`.
    path: String,
    /// `created`, `changed`, or `unchanged` when it held this very content.
    result: &'static str,
    /// How long it is now.
    size_bytes: u64,
}

impl Output for CodeFileView {}

impl From<Written> for CodeFileView {
    fn from(written: Written) -> Self {
        Self {
            path: written.path,
            result: match (written.created, written.unchanged) {
                (true, _) => "created",
                (_, true) => "unchanged",
                _ => "changed",
            },
            size_bytes: written.size,
        }
    }
}
