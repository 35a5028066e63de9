//! What tests stand on: both databases, temporary repositories, and a whole platform
//! with a clock that stands still. Not shipped.

#![expect(clippy::expect_used, reason = "in a test there is nobody to hand an error to")]

pub mod databases;
mod platform;
mod repository;

pub use agentyard_sandbox::lead;
pub use platform::{TestPlatform, environment_settings, run_settings, sandboxed_run_settings};
pub use repository::{TestRepository, git_in};
