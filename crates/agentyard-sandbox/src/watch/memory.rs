//! How much memory a tree of processes uses.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use rustix::fs::statfs;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::Pid;

/// Directories of a sandbox that are kept in memory.
const IN_MEMORY: &[&str] = &["tmp", "dev/shm", "run"];

/// What the kernel calls a file system in memory.
const IN_MEMORY_KIND: rustix::fs::FsWord = 0x0102_1994;

/// The bytes that a process and those below it use, with what they keep in directories in memory. What several share is
/// counted once only when it matters, since that takes longer: when the sum would be over the limit.
pub(super) fn used(root: Pid, limit: u64) -> u64 {
    let processes = tree(root.as_raw_nonzero().get());
    let files = in_directories(root);
    let resident: u64 = processes.iter().filter_map(|pid| resident(*pid)).sum();
    if resident + files <= limit {
        return resident + files;
    }
    let proportional = processes
        .iter()
        .filter_map(|pid| proportional(*pid).or_else(|| self::resident(*pid)));
    proportional.sum::<u64>() + files
}

/// The bytes that a process and those below it use at the moment.
pub(crate) fn used_memory(root: Pid) -> u64 {
    used(root, 0)
}

/// How long processors have worked for a process and those below it, as far as they are still there or were waited for.
pub(crate) fn processor_time(root: Pid) -> Duration {
    let ticks: u64 = tree(root.as_raw_nonzero().get())
        .into_iter()
        .filter_map(ticks)
        .sum();
    Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second().max(1) as f64)
}

/// In user and system mode, of a process and of its dead children: fields 14 to 17 of what the kernel tells.
fn ticks(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields = rest.split_ascii_whitespace().skip(11).take(4);
    Some(fields.filter_map(|field| field.parse::<u64>().ok()).sum())
}

/// A process and all below it.
pub(crate) fn tree(root: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        found.push(pid);
        let threads = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            next.extend(
                children
                    .split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            );
        }
    }
    found
}

fn resident(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// What is shared is divided among those who share it.
fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn in_directories(root: Pid) -> u64 {
    let place = |path: String| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    // Until its sandbox is put together, it still sees what we see.
    if place(format!("/proc/{root}/root/")) == place("/".to_owned()) {
        return 0;
    }
    let sizes = IN_MEMORY.iter().filter_map(|name| {
        let found = statfs(format!("/proc/{root}/root/{name}")).ok()?;
        // In a sandbox that stays, some of them are on disk.
        let is_in_memory = found.f_type == IN_MEMORY_KIND;
        let used = found.f_blocks.saturating_sub(found.f_bfree);
        is_in_memory.then(|| used * found.f_bsize.unsigned_abs())
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_some_memory_and_is_below_its_parent() {
        let own = rustix::process::getpid();
        assert!(resident(own.as_raw_nonzero().get()).unwrap() > 0);
        assert!(proportional(own.as_raw_nonzero().get()).unwrap() > 0);
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert!(tree(parent).contains(&own.as_raw_nonzero().get()));
    }
}
