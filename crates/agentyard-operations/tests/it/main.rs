//! The operations over a real platform: real git, a real database, a fixed clock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod code_files;
mod conflicts;
mod files;
mod git_reads;
mod guards;
mod references;
mod surface;

/// The program that leads commands in these tests. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn leader() {
    let _ = agentyard_testkit::lead();
}

/// The program that answers inside sandboxes that stay. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn daemon() {
    let _ = agentyard_testkit::serve_in_sandbox();
}
