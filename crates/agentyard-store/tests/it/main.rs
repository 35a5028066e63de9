//! The store, on both databases.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

mod audit;
mod audit_tampering;
mod authentication;
mod bootstrap;
mod executions;
mod interruption;
mod isolation;
mod jobs;
mod measures;
mod narrowing;
mod opening;
mod repos;
mod roles;
mod sandboxes;
mod sealed_secrets;
mod tenants;
mod tokens;
mod trusted_repositories;
mod users;
mod working_directories;
mod workspace_claims;
mod workspaces;

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
