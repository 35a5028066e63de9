//! The process between the server and a command: it ends all that a command has started, also when the server is gone.

use std::process::ExitCode;

use agentyard_sandbox::LeaderProgram;

use crate::tethered;

/// The hidden command.
pub(crate) const COMMAND: &str = "lead-command";

/// Leads the command that standard input tells of.
pub(crate) fn run() -> ExitCode {
    if !tethered::outlive_termination() || agentyard_sandbox::lead().is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// This program, as what leads commands. Named like this it is found even when its file was replaced meanwhile.
pub(crate) fn program() -> LeaderProgram {
    LeaderProgram {
        program: "/proc/self/exe".into(),
        arguments: vec![COMMAND.into()],
    }
}
