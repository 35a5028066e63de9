//! What a container takes, read from its control groups while they are there: they go with it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;

use crate::command::Usage;
use crate::standing::Load;

/// Where the counters of one container are, and what they last said.
#[derive(Debug, Default)]
pub(super) struct Meter {
    peak: Option<File>,
    cpu: Option<File>,
    kills: Option<File>,
    now: Option<File>,
    statistics: Option<File>,
    last: Usage,
    ran_out_of_memory: bool,
}

impl Meter {
    pub(super) fn of(first_process: Pid) -> Self {
        let path = format!("/proc/{}/cgroup", first_process.as_raw_nonzero());
        let groups = std::fs::read_to_string(path).unwrap_or_default();
        let open = |controller: &str, file: &str, unified: &str| {
            let paths = places(&groups, controller, file, unified);
            paths.iter().find_map(|path| File::open(path).ok())
        };
        Self {
            peak: open("memory", "memory.max_usage_in_bytes", "memory.peak"),
            cpu: open("cpuacct", "cpuacct.usage", "cpu.stat"),
            kills: open("memory", "memory.oom_control", "memory.events"),
            now: open("memory", "memory.usage_in_bytes", "memory.current"),
            statistics: open("memory", "memory.stat", "memory.stat"),
            ..Self::default()
        }
    }

    /// What was taken so far. What is gone already is told as it was last seen.
    pub(super) fn read(&mut self) -> Usage {
        if let Some(peak) = self
            .peak
            .as_ref()
            .and_then(text)
            .and_then(|text| text.trim().parse().ok())
        {
            self.last.peak_memory_bytes = Some(peak);
        }
        if let Some(cpu) = self.cpu.as_ref().and_then(text).and_then(|text| cpu_time(&text)) {
            self.last.cpu = Some(cpu);
        }
        let kills = self
            .kills
            .as_ref()
            .and_then(text)
            .and_then(|text| number(&text, "oom_kill "));
        self.ran_out_of_memory |= kills.is_some_and(|kills| kills > 0);
        self.last
    }

    /// What is taken at the moment, but for disks.
    pub(super) fn load(&mut self) -> Load {
        let memory = self.now.as_ref().and_then(text);
        let statistics = self.statistics.as_ref().and_then(text).unwrap_or_default();
        let cache = number(&statistics, "total_cache ").or_else(|| number(&statistics, "file "));
        Load {
            cpu: self.read().cpu,
            memory_bytes: memory.and_then(|text| text.trim().parse().ok()),
            cache_bytes: cache,
            disk_bytes: None,
        }
    }

    /// Whether the kernel had to kill one of its processes, as far as was seen.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.ran_out_of_memory
    }
}

/// Where a counter may be: in the hierarchy of its controller, or in the one of all.
fn places(groups: &str, controller: &str, file: &str, unified: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let group = group.trim_start_matches('/');
        let root = PathBuf::from("/sys/fs/cgroup");
        if controllers.is_empty() {
            places.push(root.join(group).join(unified));
        } else if controllers.split(',').any(|name| name == controller) {
            places.extend([controllers, controller].map(|name| root.join(name).join(group).join(file)));
        }
    }
    places
}

fn text(file: &File) -> Option<String> {
    let mut bytes = [0; 4096];
    let length = file.read_at(&mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Nanoseconds, or a table with microseconds.
fn cpu_time(text: &str) -> Option<Duration> {
    if let Ok(nanoseconds) = text.trim().parse() {
        return Some(Duration::from_nanos(nanoseconds));
    }
    number(text, "usage_usec ").map(Duration::from_micros)
}

/// A number in a table.
fn number(table: &str, name: &str) -> Option<u64> {
    let found = table.lines().find_map(|line| line.strip_prefix(name))?;
    found.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_both_hierarchies() {
        let groups = "4:memory:/a/b\n2:cpu,cpuacct:/a/c\n0::/a/d\n";
        let shown = |controller, file, unified| -> Vec<String> {
            let places = places(groups, controller, file, unified);
            places.iter().map(|place| place.display().to_string()).collect()
        };
        assert_eq!(
            shown("memory", "m", "p")[1..],
            ["/sys/fs/cgroup/memory/a/b/m", "/sys/fs/cgroup/a/d/p"]
        );
        assert_eq!(
            shown("cpuacct", "u", "s"),
            [
                "/sys/fs/cgroup/cpu,cpuacct/a/c/u",
                "/sys/fs/cgroup/cpuacct/a/c/u",
                "/sys/fs/cgroup/a/d/s"
            ]
        );
    }

    #[test]
    fn time_is_read_in_both_units() {
        assert_eq!(cpu_time("1500\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(
            cpu_time("usage_usec 7\nuser_usec 3\n"),
            Some(Duration::from_micros(7))
        );
        assert_eq!(cpu_time("?"), None);
    }
}
