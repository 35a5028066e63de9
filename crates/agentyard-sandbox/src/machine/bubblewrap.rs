//! bubblewrap: the usual sandbox.

use super::Machine;
use super::finding::Finding;
use super::programs::{failure, seen};

/// A sandbox with namespaces of every kind, in which `true` is run.
const TRIAL: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--",
    "true",
];

impl Machine {
    /// Runs a command in a sandbox.
    pub(crate) fn bubblewrap(&self) -> Finding {
        const WHAT: &str = "bubblewrap";
        let version = match self.probe("bwrap", &["--version"]) {
            Ok(outcome) => outcome,
            Err(error) => {
                let remedy =
                    "install bubblewrap (on Debian: apt install bubblewrap); without it commands are not run";
                return Finding::missing(WHAT, error.to_string(), remedy);
            }
        };
        let remedy = "make user namespaces work; without a sandbox commands are not run";
        match self.probe("bwrap", TRIAL) {
            Ok(outcome) if outcome.succeeded() => {
                Finding::ok(WHAT, format!("{}, and it runs a command", seen(&version)))
            }
            Ok(outcome) => Finding::limited(
                WHAT,
                format!("{}, but {}", seen(&version), failure(&outcome)),
                remedy,
            ),
            Err(error) => Finding::limited(WHAT, format!("{}, but {error}", seen(&version)), remedy),
        }
    }
}
