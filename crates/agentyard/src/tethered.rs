//! The process between the server and git, for calls that go to other machines: it ends git when the server is gone.

use std::ffi::OsString;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use crate::runtime;

/// The hidden command.
pub(crate) const COMMAND: &str = "git-tethered";

/// Runs git, and answers with its exit code.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    if !outlive_termination() {
        return ExitCode::FAILURE;
    }
    match agentyard_git::run_tethered(arguments) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Makes this process outlive being asked to end: what it looks after needs the time to tidy up. Says whether that
/// worked.
pub(crate) fn outlive_termination() -> bool {
    // Once listened for, the signal no longer ends this process.
    let listening =
        runtime::one_thread().map(|runtime| runtime.block_on(async { signal(SignalKind::terminate()) }));
    matches!(listening, Ok(Ok(_)))
}
