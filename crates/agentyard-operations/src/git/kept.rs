//! Where what was thrown away is kept.

use agentyard_services::Kept;

/// The references that hold it.
pub(super) fn references(kept: Vec<Kept>) -> Vec<String> {
    kept.into_iter().map(|kept| kept.reference).collect()
}
