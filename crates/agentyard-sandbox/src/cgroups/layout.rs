//! Where control groups are, and which of them this process is in.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// What limits a command, and without which groups are of no use.
const NEEDED: &[&str] = &["memory", "pids"];

/// What is used where it is there.
const USEFUL: &[&str] = &["cpu", "cpuacct", "freezer"];

/// The group into which this server moves itself, since a group that hands limits on may not have members.
const OWN_GROUP: &str = "agentyard-server";

/// How control groups are laid out here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Layout {
    /// For each controller, a hierarchy: its name, and the group in which this process is.
    Version1 { own: Vec<(&'static str, PathBuf)> },
    /// One for all: the group below which others can be made, and the one in which this process is.
    Version2 {
        parent: PathBuf,
        own: PathBuf,
        limits_cpu: bool,
    },
}

impl Layout {
    /// Finds out, and for version 2 makes it possible to have groups below our own.
    pub(super) fn find() -> Result<Self, String> {
        let membership = fs::read_to_string("/proc/self/cgroup")
            .map_err(|error| format!("/proc/self/cgroup could not be read: {error}"))?;
        let root = Path::new(ROOT);
        if root.join("cgroup.controllers").exists() {
            return version_2(root, &membership);
        }
        version_1(root, &membership)
    }

    /// Where groups are made.
    pub(super) fn parents(&self) -> Vec<PathBuf> {
        match self {
            Self::Version1 { own } => own.iter().map(|(_, path)| path.clone()).collect(),
            Self::Version2 { parent, .. } => vec![parent.clone()],
        }
    }

    pub(super) fn limits_cpu(&self) -> bool {
        match self {
            Self::Version1 { own } => own.iter().any(|(controller, _)| *controller == "cpu"),
            Self::Version2 { limits_cpu, .. } => *limits_cpu,
        }
    }

    pub(super) fn own_member_lists(&self) -> Vec<PathBuf> {
        match self {
            Self::Version1 { own } => own.iter().map(|(_, path)| path.join("tasks")).collect(),
            Self::Version2 { own, .. } => vec![own.join("cgroup.procs")],
        }
    }
}

fn version_1(root: &Path, membership: &str) -> Result<Layout, String> {
    let mut own = Vec::new();
    for controller in NEEDED {
        let group = own_group(root, membership, controller)
            .ok_or_else(|| format!("this process is in no group for {controller}"))?;
        own.push((*controller, group));
    }
    for controller in USEFUL {
        own.extend(own_group(root, membership, controller).map(|group| (*controller, group)));
    }
    Ok(Layout::Version1 { own })
}

/// The directory of the group that this process is in.
fn own_group(root: &Path, membership: &str, controller: &str) -> Option<PathBuf> {
    let path = path_in(membership, |controllers| {
        controllers.split(',').any(|name| name == controller)
    })?;
    // Where two controllers have one hierarchy, the name of each is a link to it.
    let hierarchy = root.join(controller).canonicalize().ok()?;
    Some(below(&hierarchy, path))
}

fn version_2(root: &Path, membership: &str) -> Result<Layout, String> {
    let path = path_in(membership, str::is_empty).ok_or("this process is in no group")?;
    let mut parent = below(root, path);
    if parent.file_name().is_some_and(|name| name == OWN_GROUP) {
        // A server of ours has been here before, which has become this one.
        parent.pop();
    }
    let available = words(&parent, "cgroup.controllers");
    for controller in NEEDED {
        if !available.iter().any(|name| name == controller) {
            return Err(format!("{controller} is not delegated to {}", parent.display()));
        }
    }
    let limits_cpu = available.iter().any(|name| name == "cpu");
    let own = hand_on(&parent, limits_cpu)
        .map_err(|error| format!("{} hands on no limits: {error}", parent.display()))?;
    Ok(Layout::Version2 {
        parent,
        own,
        limits_cpu,
    })
}

/// Has a group hand its controllers on to those below it. Where this process has to leave it for that, it goes into one
/// below, with all others that are in it; tells where this process is then.
fn hand_on(parent: &Path, limits_cpu: bool) -> std::io::Result<PathBuf> {
    let wanted = if limits_cpu {
        "+memory +pids +cpu"
    } else {
        "+memory +pids"
    };
    let own = parent.join(OWN_GROUP);
    let handed_on = words(parent, "cgroup.subtree_control");
    if !NEEDED
        .iter()
        .all(|needed| handed_on.iter().any(|name| name == needed))
    {
        fs::create_dir_all(&own)?;
        for member in words(parent, "cgroup.procs") {
            // One that has ended meanwhile need not be moved.
            let _ = fs::write(own.join("cgroup.procs"), member);
        }
        fs::write(parent.join("cgroup.subtree_control"), wanted)?;
    }
    Ok(if own.is_dir() { own } else { parent.to_owned() })
}

fn words(group: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The path in the line whose controllers are these: `4:memory:/path`.
fn path_in(membership: &str, are_these: impl Fn(&str) -> bool) -> Option<&str> {
    membership.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        parts.next().filter(|_| are_these(controllers))
    })
}

/// Inside a container the path may be that of the host; the mount then shows our group as its root.
fn below(hierarchy: &Path, path: &str) -> PathBuf {
    let group = hierarchy.join(path.trim_start_matches('/'));
    if group.is_dir() {
        group
    } else {
        hierarchy.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_version_1_are_found_by_controller() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        for directory in ["memory/a", "pids", "cpu,cpuacct/b"] {
            fs::create_dir_all(path.join(directory)).unwrap();
        }
        for name in ["cpu", "cpuacct"] {
            std::os::unix::fs::symlink("cpu,cpuacct", path.join(name)).unwrap();
        }
        let found = version_1(&path, "4:memory:/a\n3:pids:/elsewhere\n2:cpu,cpuacct:/b\n0::/\n").unwrap();
        let both = path.join("cpu,cpuacct/b");
        let own = vec![
            ("memory", path.join("memory/a")),
            ("pids", path.join("pids")),
            ("cpu", both.clone()),
            ("cpuacct", both),
        ];
        assert_eq!(found, Layout::Version1 { own });
        assert!(version_1(&path, "2:cpu,cpuacct:/b\n").is_err());
    }

    #[test]
    fn a_server_makes_room_for_groups_of_version_2_once() {
        let root = tempfile::tempdir().unwrap();
        let parent = root.path().join("service");
        fs::create_dir(&parent).unwrap();
        for (file, text) in [
            ("cgroup.controllers", "cpu io memory pids"),
            ("cgroup.procs", "12\n13\n"),
            ("cgroup.subtree_control", ""),
        ] {
            fs::write(parent.join(file), text).unwrap();
        }
        let own = parent.join(OWN_GROUP);
        let expected = Layout::Version2 {
            parent: parent.clone(),
            own: own.clone(),
            limits_cpu: true,
        };
        assert_eq!(version_2(root.path(), "0::/service\n"), Ok(expected.clone()));
        assert_eq!(fs::read_to_string(own.join("cgroup.procs")).unwrap(), "13");
        let control = parent.join("cgroup.subtree_control");
        assert_eq!(fs::read_to_string(&control).unwrap(), "+memory +pids +cpu");
        fs::write(&control, "memory pids cpu").unwrap();
        assert_eq!(
            version_2(root.path(), "0::/service/agentyard-server\n"),
            Ok(expected)
        );
        fs::write(parent.join("cgroup.controllers"), "cpu").unwrap();
        assert!(version_2(root.path(), "0::/service\n").is_err());
    }
}
