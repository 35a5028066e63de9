//! Whether commands run, and where.

use agentyard_sandbox::Finding;

const WHAT: &str = "commands";

/// Says it.
pub(super) fn look(allow_host: bool) -> Finding {
    if allow_host {
        return Finding::limited(
            WHAT,
            "run on this host itself, without a sandbox: they can do whatever this user can",
            "set `sandbox.allow_host = false`, unless everybody who may call is trusted with this machine",
        );
    }
    Finding::missing(
        WHAT,
        "are refused: this version has no sandbox yet",
        "where everybody who may call is trusted with this machine, set `sandbox.allow_host = true` to run them on the host",
    )
}
