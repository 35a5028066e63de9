//! What tests stand on: both databases, temporary repositories, and a whole platform
//! with a clock that stands still. Not shipped.

#![expect(clippy::expect_used, reason = "in a test there is nobody to hand an error to")]

pub mod databases;
mod platform;
mod repository;
pub mod sandbox_suite;
mod tenants;

pub use agentyard_sandbox::lead;

/// Answers inside a sandbox that stays.
///
/// # Errors
/// When nobody is at this process's standard input.
pub fn serve_in_sandbox() -> std::io::Result<()> {
    agentyard_envd::serve(agentyard_sandbox::STANDING_HOME.into())
}

pub use platform::{
    TestPlatform, daemon, environment_settings, run_settings, sandbox_settings, sandboxed_run_settings,
};
pub use repository::{TestRepository, git_in};
pub use tenants::{add_administrator, add_tenant};
