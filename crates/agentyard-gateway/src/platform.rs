//! What every face is made over.

use std::sync::Arc;

use agentyard_operations::{Presentation, Selection};
use agentyard_services::Services;

/// The services and how they are shown. Cheap to clone: every connection has one.
#[derive(Clone)]
pub struct Platform {
    /// What the platform does.
    pub services: Arc<Services>,
    /// Which operations are offered.
    pub selection: Arc<Selection>,
    /// How answers look.
    pub presentation: Presentation,
}
