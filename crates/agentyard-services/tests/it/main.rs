//! The services over a real platform: real git, a real database, real processes, a fixed clock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod environments;
mod environments_sandboxed;
mod exec;
mod executions;
mod fake_surreal;
mod package_index;
mod repos;
mod runs;
mod sandbox_visits;
mod sandboxes;
mod secrets;
mod workspace_changes;
mod workspace_conflicts;
mod workspace_keeping;
mod workspace_opening;
mod workspace_recovery;
mod workspace_sync;
mod yard;

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

#[test]
fn no_file_is_forgotten() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        assert!(
            module == "main" || listed.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}
