//! What every sandbox must do, whichever way it is made: one list of behaviours, for all of them.
//!
//! A test makes a sandbox and hands it to [`every_command`], and where sandboxes stay to [`every_standing`]. Each
//! behaviour is a function of its own too, for those that need a sandbox of their own for each.

// Said, since the tests of `agentyard-sandbox` take these files as their own.
#[path = "sandbox_suite/commands.rs"]
pub mod commands;
#[path = "sandbox_suite/place.rs"]
pub mod place;
#[path = "sandbox_suite/standing.rs"]
pub mod standing;

use agentyard_sandbox::{Backend, Sandbox, Site};

pub use place::Plot;

/// Everything that a command must find: what it is given, what comes back, what ends it, and the walls.
pub async fn every_command(sandbox: &dyn Sandbox) {
    commands::tells_how_it_ended_and_what_it_said(sandbox).await;
    commands::tells_signals_from_codes(sandbox).await;
    commands::reads_its_input(sandbox).await;
    commands::has_the_environment_that_it_was_given(sandbox).await;
    commands::starts_where_it_is_told(sandbox).await;
    commands::sees_its_directories_and_writes_to_them(sandbox).await;
    commands::ends_when_its_time_is_up(sandbox).await;
    commands::ends_when_it_is_stopped(sandbox).await;
    commands::ends_when_it_says_too_much(sandbox).await;
    commands::is_named_when_it_is_not_there(sandbox).await;
    commands::leaves_nobody_behind(sandbox).await;
    if sandbox.backend() != Backend::Host {
        commands::cannot_write_where_it_may_only_look(sandbox).await;
        commands::reaches_nobody_without_a_network(sandbox).await;
        commands::is_not_root(sandbox).await;
        commands::cannot_have_more_memory_than_it_may(sandbox).await;
        commands::cannot_have_more_processes_than_it_may(sandbox).await;
        commands::cannot_have_longer_files_than_it_may(sandbox).await;
        commands::cannot_have_more_open_files_than_it_may(sandbox).await;
    }
}

/// Everything that a sandbox that stays must do. `site` makes a new one's each time.
pub async fn every_standing(sandbox: &dyn Sandbox, site: impl AsyncFn() -> Site) {
    standing::runs_commands(sandbox, site().await).await;
    standing::has_a_home_and_a_user(sandbox, site().await).await;
    standing::keeps_files(sandbox, site().await).await;
    standing::runs_programs_beside_each_other(sandbox, site().await).await;
    standing::goes_on_after_it_was_frozen(sandbox, site().await).await;
    standing::ends_when_it_is_taken_down(sandbox, site().await).await;
    standing::ends_when_it_is_taken_down_frozen(sandbox, site().await).await;
    standing::ends_when_nobody_holds_it(sandbox, site().await).await;
    standing::reaches_nobody_without_a_network(sandbox, site().await).await;
}
