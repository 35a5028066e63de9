//! The daemon inside a sandbox that stays.

use std::process::ExitCode;

use agentyard_sandbox::{DaemonProgram, STANDING_HOME};

/// The hidden command.
pub(crate) const COMMAND: &str = "answer-in-sandbox";

/// Answers at standard input until nobody is at its other end.
pub(crate) fn run() -> ExitCode {
    match agentyard_envd::serve(STANDING_HOME.into()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// This program, as what answers inside. Named like this it is found even when its file was replaced meanwhile.
pub(crate) fn program() -> DaemonProgram {
    DaemonProgram {
        program: "/proc/self/exe".into(),
        arguments: vec![COMMAND.to_owned()],
    }
}
