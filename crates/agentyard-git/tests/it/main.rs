//! The crate against real repositories, made by the `git` program and by hand.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod porcelain;
mod program;
mod steps;
mod support;

mod add;
mod branches;
mod branching;
mod checkout;
mod checkpoints;
mod checkpoints_differential;
mod checkpoints_restoring;
mod checkpoints_support;
mod cherry_picking;
mod clean;
mod commit;
mod diff;
mod environment;
mod files_disk_full;
mod files_editing;
mod files_hostile;
mod files_listing;
mod files_reading;
mod files_searching;
mod files_support;
mod files_writing;
mod forecast;
mod forecast_differential;
mod hostile_configuration;
mod hostile_content;
mod hostile_layout;
mod initialising;
mod integrating;
mod kept_repositories;
mod linking;
mod log;
mod log_differential;
mod log_filters;
mod log_options;
mod log_stat;
mod merging;
mod network_fetch;
mod network_hostile;
mod network_person;
mod network_push;
mod network_support;
mod objects;
mod own_history;
mod races;
mod rebasing;
mod reflog;
mod repository;
mod reset;
mod roots;
mod snapshot;
mod stash;
mod status_changes;
mod status_content;
mod status_differential;
mod status_index;
mod status_limits;
mod status_nested;
mod status_states;
mod status_watched;
mod status_watched_changes;
mod status_watched_differential;
mod tagging;
mod tags;
mod trees_killed;
mod trees_mirrors;
mod trees_owner;
mod trees_owner_hostile;
mod trees_recovery;
mod trees_support;
mod trees_views;
mod trees_without_root;
mod working_tree;
mod worktrees;

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
