//! The services over a real platform: real git, a real database, real processes.

mod runs;

/// The program that leads commands in these tests. Run as a test, it has nobody at its standard input, and ends.
#[test]
fn leader() {
    let _ = agentyard_testkit::lead();
}
