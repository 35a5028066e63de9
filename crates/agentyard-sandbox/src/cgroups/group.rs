//! The groups of one run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::layout::Layout;
use super::leftovers;
use crate::command::{Limits, Usage};

/// In which time processors are shared out anew.
const PERIOD_MICROSECONDS: u64 = 100_000;

/// Processes of ours that are in the groups with those of a command: its leader for a moment, bubblewrap, and the first
/// process inside.
const OURS: u64 = 3;

/// The groups of one run. Dropping this removes them, with all who are still in them.
#[derive(Debug)]
pub(crate) struct Group {
    is_version_2: bool,
    /// By controller; two may be in one directory.
    directories: Vec<(&'static str, PathBuf)>,
}

impl Group {
    pub(super) fn new(layout: &Layout, name: &str) -> Self {
        match layout {
            Layout::Version1 { own } => Self {
                is_version_2: false,
                directories: own.iter().map(|(kind, path)| (*kind, path.join(name))).collect(),
            },
            Layout::Version2 { parent, .. } => Self {
                is_version_2: true,
                directories: vec![("", parent.join(name))],
            },
        }
    }

    /// Each directory once.
    pub(super) fn directories(&self) -> Vec<&Path> {
        let mut directories: Vec<&Path> = Vec::new();
        for (_, directory) in &self.directories {
            if !directories.contains(&directory.as_path()) {
                directories.push(directory);
            }
        }
        directories
    }

    fn file(&self, controller: &str, name: &str) -> Option<PathBuf> {
        let found = self
            .directories
            .iter()
            .find(|(kind, _)| self.is_version_2 || *kind == controller);
        found.map(|(_, directory)| directory.join(name))
    }

    fn write(&self, controller: &str, name: &str, value: &str) -> io::Result<()> {
        let Some(path) = self.file(controller, name) else {
            return Ok(());
        };
        // One that this kernel does not have is not made: that would be refused with the wrong reason.
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    fn read(&self, controller: &str, name: &str) -> Option<String> {
        fs::read_to_string(self.file(controller, name)?).ok()
    }

    pub(super) fn limit(&self, limits: &Limits) -> io::Result<()> {
        let memory = limits.memory_bytes.to_string();
        let processes = (u64::from(limits.processes) + OURS).to_string();
        let quota = u64::from(limits.cpu_percent.max(1)) * PERIOD_MICROSECONDS / 100;
        self.write("pids", "pids.max", &processes)?;
        if self.is_version_2 {
            self.write("memory", "memory.max", &memory)?;
            // Without swap there is no such file.
            let _ = self.write("memory", "memory.swap.max", "0");
            let _ = self.write("memory", "memory.oom.group", "1");
            let _ = self.write("cpu", "cpu.max", &format!("{quota} {PERIOD_MICROSECONDS}"));
        } else {
            self.write("memory", "memory.limit_in_bytes", &memory)?;
            let _ = self.write("memory", "memory.memsw.limit_in_bytes", &memory);
            self.write("cpu", "cpu.cfs_period_us", &PERIOD_MICROSECONDS.to_string())?;
            self.write("cpu", "cpu.cfs_quota_us", &quota.to_string())?;
        }
        Ok(())
    }

    /// What a process writes to, to be in the groups. In version 1, that of single threads: the other one makes the kernel
    /// wait for every processor.
    pub(crate) fn member_lists(&self) -> Vec<PathBuf> {
        let name = if self.is_version_2 {
            "cgroup.procs"
        } else {
            "tasks"
        };
        self.directories().iter().map(|path| path.join(name)).collect()
    }

    /// What was taken so far.
    pub(crate) fn usage(&self) -> Usage {
        let number = |text: String| text.trim().parse().ok();
        if self.is_version_2 {
            let cpu = self
                .read("cpu", "cpu.stat")
                .and_then(|text| value_of(&text, "usage_usec"));
            return Usage {
                peak_memory_bytes: self.read("memory", "memory.peak").and_then(number),
                cpu: cpu.map(Duration::from_micros),
            };
        }
        let cpu = self.read("cpuacct", "cpuacct.usage").and_then(number);
        Usage {
            peak_memory_bytes: self.read("memory", "memory.max_usage_in_bytes").and_then(number),
            cpu: cpu.map(Duration::from_nanos),
        }
    }

    /// How much memory is taken now, and how much of that is only there to be fast.
    pub(crate) fn memory_now(&self) -> (Option<u64>, Option<u64>) {
        let (used, cache) = if self.is_version_2 {
            ("memory.current", "file")
        } else {
            ("memory.usage_in_bytes", "total_cache")
        };
        let used = self
            .read("memory", used)
            .and_then(|text| text.trim().parse().ok());
        let statistics = self.read("memory", "memory.stat");
        (used, statistics.and_then(|text| value_of(&text, cache)))
    }

    /// Whether the kernel can stop all members at once.
    pub(crate) fn can_freeze(&self) -> bool {
        self.freezer().is_some()
    }

    /// Tells the kernel to stop all members where they are. Whether it has is told by [`Group::is_frozen`]. False where
    /// there is no group that can.
    pub(crate) fn freeze(&self) -> io::Result<bool> {
        if !self.can_freeze() {
            return Ok(false);
        }
        if self.is_version_2 {
            self.write("", "cgroup.freeze", "1")?;
        } else {
            self.write("freezer", "freezer.state", "FROZEN")?;
        }
        Ok(true)
    }

    /// Whether all members have been stopped. In version 1, asking moves it on.
    pub(crate) fn is_frozen(&self) -> bool {
        if self.is_version_2 {
            let events = self.read("", "cgroup.events");
            return events.and_then(|text| value_of(&text, "frozen")) == Some(1);
        }
        self.read("freezer", "freezer.state")
            .is_some_and(|text| text.trim() == "FROZEN")
    }

    /// Lets all members go on.
    pub(crate) fn thaw(&self) {
        if let Some(directory) = self.freezer() {
            thaw_members(&directory);
        }
    }

    /// The directory of the group that can freeze.
    fn freezer(&self) -> Option<PathBuf> {
        let file = if self.is_version_2 {
            "cgroup.freeze"
        } else {
            "freezer.state"
        };
        let path = self.file("freezer", file).filter(|path| path.exists())?;
        path.parent().map(Path::to_owned)
    }

    /// Whether the kernel has ended somebody because there was no memory left in the group.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let name = if self.is_version_2 {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        let ended = self
            .read("memory", name)
            .and_then(|text| value_of(&text, "oom_kill"));
        ended.is_some_and(|ended| ended > 0)
    }

    /// Lets the members have all processors: who is to end needs one for that.
    pub(crate) fn lift_cpu(&self) {
        let _ = if self.is_version_2 {
            self.write("cpu", "cpu.max", "max")
        } else {
            self.write("cpu", "cpu.cfs_quota_us", "-1")
        };
    }

    /// Kills all members.
    pub(crate) fn kill(&self) {
        self.lift_cpu();
        for directory in self.directories() {
            kill_members(directory);
        }
        // Whoever is frozen dies when thawed, before doing anything else.
        self.thaw();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        leftovers::remove_soon(self.directories().iter().map(|path| (*path).to_owned()).collect());
    }
}

/// Kills all members of a group, once.
pub(super) fn kill_members(directory: &Path) {
    // Only version 2 has this, and there nobody can evade it.
    let kill = fs::OpenOptions::new()
        .write(true)
        .open(directory.join("cgroup.kill"));
    if kill.is_ok_and(|mut file| io::Write::write_all(&mut file, b"1").is_ok()) {
        return;
    }
    let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    for pid in members
        .lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
    {
        // Whoever has ended meanwhile needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Lets all members of a group go on, where groups of its kind can be frozen.
pub(super) fn thaw_members(directory: &Path) {
    for (file, word) in [("freezer.state", "THAWED"), ("cgroup.freeze", "0")] {
        let opened = fs::OpenOptions::new().write(true).open(directory.join(file));
        // One that is gone has nobody in it.
        let _ = opened.and_then(|mut file| io::Write::write_all(&mut file, word.as_bytes()));
    }
}

/// The number after a name, in lines of both.
fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_name() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value_of(text, "oom_kill"), Some(3));
        assert_eq!(value_of(text, "oom"), None);
    }

    #[test]
    fn version_2_is_limited_by_its_own_files() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::Version2 {
            parent: root.path().to_owned(),
            own: root.path().to_owned(),
            limits_cpu: true,
        };
        let group = Group::new(&layout, "run");
        let directory = root.path().join("run");
        fs::create_dir(&directory).unwrap();
        for file in ["pids.max", "memory.max", "memory.oom.group", "cpu.max"] {
            fs::write(directory.join(file), "").unwrap();
        }
        group
            .limit(&Limits {
                memory_bytes: 1000,
                processes: 5,
                cpu_percent: 150,
                ..Limits::default()
            })
            .unwrap();
        let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
        assert_eq!(read("pids.max"), "8");
        assert_eq!(read("memory.max"), "1000");
        assert_eq!(read("memory.oom.group"), "1");
        assert_eq!(read("cpu.max"), "150000 100000");
        group.lift_cpu();
        assert_eq!(read("cpu.max"), "max000 100000");
        fs::write(directory.join("memory.peak"), "77\n").unwrap();
        fs::write(directory.join("cpu.stat"), "usage_usec 5000\nuser_usec 1\n").unwrap();
        fs::write(directory.join("memory.events"), "oom 1\noom_kill 1\n").unwrap();
        assert_eq!(
            group.usage(),
            Usage {
                peak_memory_bytes: Some(77),
                cpu: Some(Duration::from_millis(5)),
            }
        );
        assert!(group.ran_out_of_memory());
        fs::write(directory.join("memory.current"), "99\n").unwrap();
        fs::write(directory.join("memory.stat"), "anon 4\nfile 55\n").unwrap();
        assert_eq!(group.memory_now(), (Some(99), Some(55)));
        assert!(!group.freeze().unwrap(), "this kernel cannot");
        fs::write(directory.join("cgroup.freeze"), "0").unwrap();
        assert!(group.freeze().unwrap());
        assert_eq!(read("cgroup.freeze"), "1");
        fs::write(directory.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        assert!(!group.is_frozen());
        fs::write(directory.join("cgroup.events"), "populated 1\nfrozen 1\n").unwrap();
        assert!(group.is_frozen());
        group.thaw();
        assert_eq!(read("cgroup.freeze"), "0");
        assert_eq!(group.member_lists(), [directory.join("cgroup.procs")]);
    }
}
