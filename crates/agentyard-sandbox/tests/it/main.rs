//! Commands, run for real.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod bubblewrap;
mod e2b;
mod e2b_hostile;
mod egress;
mod grounds;
mod host;
mod interpreter;
mod podman;
/// The kit stands above this crate: to have it whole would mean to build everything that is in between.
#[path = "../../../agentyard-testkit/src/sandbox_suite.rs"]
#[expect(unreachable_pub, reason = "there it is public")]
mod sandbox_suite;
mod standing;
mod standing_files;
mod suite;
mod support;
mod victims;

/// The program that leads commands in these tests. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn leader() {
    let _ = agentyard_sandbox::lead();
}

/// The program that answers inside sandboxes that stay. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn daemon() {
    let _ = agentyard_envd::serve(agentyard_sandbox::STANDING_HOME.into());
}
