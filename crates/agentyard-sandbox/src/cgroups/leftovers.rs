//! Groups that are not needed any more: those of a run that has ended, and those of a server that is gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::group::{kill_members, thaw_members};

/// What the names of our groups begin with.
const PREFIX: &str = "agentyard-";

/// How often it is tried to remove a group in which somebody still is.
const INTERVAL: Duration = Duration::from_millis(10);

/// How long. After this the next server removes it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The name of a group of this server: its number and when it was started, since a number alone is given again.
pub(super) fn name(count: u64) -> String {
    static OURS: LazyLock<String> = LazyLock::new(|| {
        let pid = std::process::id();
        format!("{PREFIX}{pid}-{}", started(pid).unwrap_or_default())
    });
    format!("{}-{count}", *OURS)
}

/// Removes groups, at once or as soon as nobody is in them. Whoever still is, is killed.
pub(super) fn remove_soon(directories: Vec<PathBuf>) {
    static LATER: LazyLock<Sender<Vec<PathBuf>>> = LazyLock::new(|| {
        let (sender, receiver) = channel::<Vec<PathBuf>>();
        thread::spawn(move || {
            for directories in receiver {
                remove_all(&directories, PATIENCE);
            }
        });
        sender
    });
    let left: Vec<PathBuf> = directories
        .into_iter()
        .filter(|directory| !is_removed(directory))
        .collect();
    if !left.is_empty() {
        // Without that thread the next server removes them.
        let _ = LATER.send(left);
    }
}

/// Removes the groups of servers that are gone.
pub(super) fn remove(parents: &[PathBuf]) {
    for parent in parents {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let abandoned: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_abandoned))
            .map(|entry| entry.path())
            .collect();
        remove_all(&abandoned, Duration::from_secs(1));
    }
}

fn remove_all(directories: &[PathBuf], patience: Duration) {
    let deadline = Instant::now() + patience;
    for directory in directories {
        while !is_removed(directory) && Instant::now() < deadline {
            kill_members(directory);
            thaw_members(directory);
            thread::sleep(INTERVAL);
        }
    }
}

fn is_removed(directory: &Path) -> bool {
    match fs::remove_dir(directory) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Whether a name is that of a group whose server does not live any more.
fn is_abandoned(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else {
        return false;
    };
    let numbers: Vec<u64> = rest.split('-').map_while(|part| part.parse().ok()).collect();
    let [pid, then, _] = numbers[..] else {
        return false;
    };
    let now = u32::try_from(pid).ok().and_then(started);
    now != Some(then)
}

/// When a process was started, in the kernel's own unit.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_servers_that_are_gone_are_abandoned() {
        assert!(!is_abandoned(&name(3)));
        let pid = std::process::id();
        assert!(is_abandoned(&format!("agentyard-{pid}-1-0")));
        assert!(is_abandoned("agentyard-4000000000-1-0"));
        for foreign in ["agentyard-server", "agentyard-probe-1", "other-4000000000-1-0"] {
            assert!(!is_abandoned(foreign), "{foreign}");
        }
    }

    #[test]
    fn groups_of_servers_that_are_gone_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let ours = parent.path().join(name(7));
        let theirs = parent.path().join("agentyard-4000000000-1-0");
        for group in [&ours, &theirs] {
            fs::create_dir(group).unwrap();
        }
        remove(&[parent.path().to_owned()]);
        assert!(ours.exists() && !theirs.exists());
    }
}
