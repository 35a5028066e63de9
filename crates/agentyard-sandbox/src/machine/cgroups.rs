//! Control groups: limits on memory, processors and the number of processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;

use super::Machine;
use super::finding::Finding;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// What marks a file system as cgroup version 2.
const VERSION_2_MAGIC: rustix::fs::FsWord = 0x6367_7270;

/// What a sandbox needs to be limited in.
const CONTROLLERS: &[&str] = &["cpu", "memory", "pids"];

/// How control groups are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Version1,
    Version2,
    Hybrid,
}

impl Layout {
    fn describe(self) -> &'static str {
        match self {
            Self::Version1 => "version 1",
            Self::Version2 => "version 2",
            Self::Hybrid => "hybrid (controllers in version 1)",
        }
    }
}

impl Machine {
    /// Makes a group below our own, for each thing that a sandbox is limited in.
    pub(crate) fn cgroups(&self) -> Finding {
        const WHAT: &str = "cgroups";
        let Some(layout) = layout() else {
            return Finding::missing(
                WHAT,
                format!("nothing is mounted at {ROOT}"),
                "mount control groups; without them a sandbox has no limit on memory as a whole",
            );
        };
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let refused: Vec<_> = CONTROLLERS
            .iter()
            .filter_map(|controller| {
                let attempt = attempt(layout, controller, &membership);
                attempt.err().map(|reason| format!("{controller}: {reason}"))
            })
            .collect();
        if refused.is_empty() {
            let controllers = CONTROLLERS.join(", ");
            return Finding::ok(
                WHAT,
                format!("{}; a group can be made for {controllers}", layout.describe()),
            );
        }
        Finding::limited(
            WHAT,
            format!(
                "{}; no group can be made for {}",
                layout.describe(),
                refused.join("; ")
            ),
            "run as a systemd service with Delegate=yes, or as root; without it a sandbox has no limit on memory \
             as a whole",
        )
    }
}

fn layout() -> Option<Layout> {
    if is_version_2(ROOT) {
        return Some(Layout::Version2);
    }
    let has_version_1 = Path::new(ROOT).join("memory").is_dir() || Path::new(ROOT).join("cpu").is_dir();
    match (is_version_2(&format!("{ROOT}/unified")), has_version_1) {
        (true, _) => Some(Layout::Hybrid),
        (false, true) => Some(Layout::Version1),
        (false, false) => None,
    }
}

fn is_version_2(path: &str) -> bool {
    statfs(path).is_ok_and(|found| found.f_type == VERSION_2_MAGIC)
}

/// Makes a group with this controller and takes it away again.
fn attempt(layout: Layout, controller: &str, membership: &str) -> Result<(), String> {
    let own_group = own_group(layout, controller, membership)
        .ok_or_else(|| "this process is in no group of that kind".to_owned())?;
    if layout == Layout::Version2 {
        // A group has only the controllers that its parent hands on.
        let handed_on = fs::read_to_string(own_group.join("cgroup.controllers")).unwrap_or_default();
        if !handed_on.split_whitespace().any(|name| name == controller) {
            return Err(format!("not delegated to {}", own_group.display()));
        }
    }
    let group = own_group.join(format!("agentyard-probe-{}", std::process::id()));
    make_and_remove(&group).map_err(|error| format!("{}: {error}", own_group.display()))
}

fn make_and_remove(group: &Path) -> io::Result<()> {
    fs::create_dir(group)?;
    fs::remove_dir(group)
}

/// The directory of the group that this process is in.
fn own_group(layout: Layout, controller: &str, membership: &str) -> Option<PathBuf> {
    let (list, directory) = match layout {
        Layout::Version2 => ("", PathBuf::from(ROOT)),
        Layout::Version1 | Layout::Hybrid => (controller, Path::new(ROOT).join(controller)),
    };
    let path = membership.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let path = parts.next()?;
        controllers.split(',').any(|name| name == list).then_some(path)
    })?;
    let group = directory.join(path.trim_start_matches('/'));
    // Inside a container the path may be that of the host; the mount then shows our group as its root.
    Some(if group.is_dir() { group } else { directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_read_from_what_the_kernel_says() {
        let version_2 = "0::/agentyard-does-not-exist\n";
        assert_eq!(
            own_group(Layout::Version2, "cpu", version_2),
            Some(PathBuf::from(ROOT))
        );
        assert_eq!(own_group(Layout::Version1, "cpu", version_2), None);
        let version_1 = "4:memory:/\n2:cpu,cpuacct:/\n0::/\n";
        assert_eq!(
            own_group(Layout::Version1, "cpu", version_1),
            Some(Path::new(ROOT).join("cpu"))
        );
        assert_eq!(own_group(Layout::Hybrid, "pids", version_1), None);
    }

    #[test]
    fn nothing_stays_behind() {
        let scratch = tempfile::tempdir().unwrap();
        let group = scratch.path().join("group");
        make_and_remove(&group).unwrap();
        assert!(!group.exists());
    }
}
