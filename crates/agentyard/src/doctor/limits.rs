//! What the kernel allows a process.

use std::fs;

use agentyard_sandbox::Finding;
use rustix::process::{Resource, getrlimit};

/// A repository is watched with one watch for each of its directories.
const ENOUGH_WATCHES: u64 = 65_536;

/// Each watched repository takes an instance.
const ENOUGH_INSTANCES: u64 = 128;

/// Each connection, each child process and each open pack takes some.
const ENOUGH_OPEN_FILES: u64 = 8_192;

/// How many directories can be watched for changes.
pub(crate) fn inotify() -> Finding {
    const WHAT: &str = "inotify";
    let limit = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse().ok()
    };
    let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances")) else {
        return Finding::missing(
            WHAT,
            "the kernel tells no limits",
            "use a kernel with inotify; without it repositories are scanned each time",
        );
    };
    let detail = format!("{watches} watches, {instances} instances for this user");
    if watches >= ENOUGH_WATCHES && instances >= ENOUGH_INSTANCES {
        return Finding::ok(WHAT, detail);
    }
    let remedy = format!(
        "run `sysctl -w fs.inotify.max_user_watches={} fs.inotify.max_user_instances={}`, \
         and keep it in /etc/sysctl.d",
        watches.max(ENOUGH_WATCHES),
        instances.max(ENOUGH_INSTANCES)
    );
    Finding::limited(WHAT, detail, remedy)
}

/// How many files the process may have open.
pub(crate) fn open_files() -> Finding {
    const WHAT: &str = "open files";
    let limit = getrlimit(Resource::Nofile);
    // No number means no limit.
    let shown = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    let detail = format!(
        "{} at a time, {} at most",
        shown(limit.current),
        shown(limit.maximum)
    );
    if limit.current.is_none_or(|current| current >= ENOUGH_OPEN_FILES) {
        return Finding::ok(WHAT, detail);
    }
    let remedy = format!(
        "run `ulimit -n {ENOUGH_OPEN_FILES}` before starting, or set LimitNOFILE= of the systemd service"
    );
    Finding::limited(WHAT, detail, remedy)
}
