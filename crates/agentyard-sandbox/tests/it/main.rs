//! Commands, run for real.

mod host;
mod support;

/// The program that leads commands in these tests. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn leader() {
    let _ = agentyard_sandbox::lead();
}
