//! What a repository that is not trusted would have run.

use agentyard_services::LeftOut;
use schemars::JsonSchema;
use serde::Serialize;

/// What was not run because nobody vouches for the repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct LeftOutView {
    /// Hooks that were not run: the repository is not trusted (`agentyard trust DIR`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    hooks_left_out: Vec<String>,
    /// Filters that were not run, for the same reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    filters_left_out: Vec<String>,
}

impl From<LeftOut> for LeftOutView {
    fn from(left_out: LeftOut) -> Self {
        Self {
            hooks_left_out: left_out.hooks,
            filters_left_out: left_out.filters,
        }
    }
}
