//! What joining histories leaves behind: conflicts to resolve and the calls that come next, or files that changed.

use agentyard_services::{ChangedFiles, Conflicts, Kept, LeftOut, OperationInProgress};
use schemars::JsonSchema;
use serde::Serialize;

use super::conflicts::{ConflictsView, is_zero, next_calls};
use super::left_out::LeftOutView;

/// What a merge, rebase, pick or pull leaves to do, and what it threw away or did not run.
#[derive(Serialize, JsonSchema)]
pub(super) struct Aftermath {
    #[serde(skip_serializing_if = "Option::is_none")]
    conflicts: Option<ConflictsView>,
    /// The calls that come next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    next: Vec<String>,
    /// Where what was replaced or thrown away is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    #[serde(flatten)]
    left_out: LeftOutView,
}

impl Aftermath {
    pub(super) fn new(kept: Option<Kept>, left_out: LeftOut) -> Self {
        Self {
            conflicts: None,
            next: Vec::new(),
            kept: kept.map(|kept| kept.reference),
            left_out: left_out.into(),
        }
    }

    /// It stopped at conflicts, in this operation, or in none that could be continued.
    pub(super) fn stopped(&mut self, operation: Option<OperationInProgress>, conflicts: Conflicts) {
        self.conflicts = ConflictsView::of(conflicts);
        self.next = next_calls(operation, self.conflicts.as_ref());
    }

    /// What to call next, when that is known otherwise.
    pub(super) fn next(&mut self, call: &str) {
        self.next.push(call.to_owned());
    }

    /// How many files have conflicts.
    pub(super) fn item_count(&self) -> usize {
        self.conflicts.as_ref().map_or(0, ConflictsView::len)
    }

    /// Leaves out the files with conflicts after so many.
    pub(super) fn keep(&mut self, count: usize) {
        if let Some(conflicts) = &mut self.conflicts {
            conflicts.keep(count);
        }
    }
}

/// Files by name, as many as are named.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct NamedFiles {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    files: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    files_left_out: usize,
}

impl NamedFiles {
    /// The first of a list.
    pub(super) fn first_of(mut files: Vec<String>) -> Self {
        const NAMED: usize = 200;
        let total = files.len();
        files.truncate(NAMED);
        Self {
            files_left_out: total - files.len(),
            files,
        }
    }
}

impl From<ChangedFiles> for NamedFiles {
    fn from(changed: ChangedFiles) -> Self {
        Self {
            files_left_out: changed.total.saturating_sub(changed.paths.len()),
            files: changed.paths,
        }
    }
}
