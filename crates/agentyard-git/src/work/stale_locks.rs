//! Lock files that a process left behind when it died.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType};

use crate::descriptor::{as_path, open_child_directory};
use crate::{CheckpointSeries, Confined, Error, Work, display_path};

/// A lock file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Where it is.
    pub path: String,
    pub age_seconds: u64,
    /// Why it is taken for somebody's; none when nobody holds it any more.
    pub held: Option<String>,
    pub removed: bool,
}

/// A process that made a lock a moment ago may not show yet that it holds it.
const YOUNG: Duration = Duration::from_secs(5);

/// As [`YOUNG`], for what nobody holds for longer: references and settings that all working trees share. One that was
/// made since this process began may be its own, and where many work at once, even moments last.
const SHARED_YOUNG: Duration = Duration::from_secs(2);
const SHARED_YOUNG_BEFORE: Duration = Duration::from_millis(300);

/// How often it is looked whether a lock is still held.
const PAUSE: Duration = Duration::from_millis(10);

/// No more locks are looked at, nor directories entered any deeper.
const MAX_LOCKS: usize = 1000;
const MAX_DEPTH: usize = 32;

struct Found {
    directory: OwnedFd,
    name: Vec<u8>,
    path: PathBuf,
    /// When it was last written to.
    written: SystemTime,
    owner: u32,
    inode: u64,
}

impl Work<'_> {
    /// The lock files of the repository. Those that nobody holds are removed, if that is confirmed.
    pub fn stale_locks(&self, confirm: bool) -> Result<Vec<Lock>, Error> {
        let repository = self.repository();
        let (git_dir, common_dir) = (repository.confined_git_dir(), repository.confined_common_dir());
        let mut found = Vec::new();
        find(git_dir, "", 0, &mut found);
        if git_dir.path() != common_dir.path() {
            find(common_dir, "", 0, &mut found);
        }
        for directory in ["refs", "logs"] {
            find(common_dir, directory, MAX_DEPTH, &mut found);
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<&Path> = [Some(git_dir), Some(common_dir), repository.confined_worktree()]
            .into_iter()
            .flatten()
            .map(Confined::path)
            .collect();
        let processes = Processes::look(&places);
        let locks = found.iter().map(|lock| {
            let held = processes.holder_of(lock);
            Lock {
                path: display_path(lock.path.as_os_str().as_bytes().into()),
                age_seconds: lock.age().as_secs(),
                removed: confirm && held.is_none() && lock.remove(),
                held,
            }
        });
        Ok(locks.collect())
    }
}

impl Work<'_> {
    /// Removes the locks of this working tree, and of the branch in it, that a process left behind when it died; of
    /// those that a git still holds which outlived whoever started it, waits so long for their end.
    ///
    /// For who has the tree and its checkpoints to itself: no age is asked for.
    pub fn clear_dead_locks(&self, series: &CheckpointSeries, patience: Duration) -> Result<(), Error> {
        let repository = self.repository();
        let git_dir = repository.confined_git_dir();
        let places: Vec<&Path> = [Some(git_dir), repository.confined_worktree()]
            .into_iter()
            .flatten()
            .map(Confined::path)
            .collect();
        self.clear_shared_locks(patience);
        let until = std::time::Instant::now() + patience;
        loop {
            let mut found = Vec::new();
            find(git_dir, "", 0, &mut found);
            find(
                repository.confined_common_dir(),
                series.prefix().trim_end_matches('/'),
                0,
                &mut found,
            );
            if let Some(branch) = self.current_branch()
                && let Some((directory, name)) = format!("{}.lock", branch.reference()).rsplit_once('/')
            {
                find(repository.confined_common_dir(), directory, 0, &mut found);
                let shared = repository.common_dir().join(directory);
                found.retain(|lock| lock.path.parent() != Some(&shared) || lock.name == name.as_bytes());
            }
            if found.is_empty() {
                return Ok(());
            }
            let processes = Processes::look(&places);
            let mut held = None;
            for lock in &found {
                match processes.user_of(lock) {
                    None => drop(lock.remove()),
                    holder => held = holder,
                }
            }
            match held {
                Some(_) if std::time::Instant::now() < until => std::thread::sleep(PAUSE),
                Some(holder) => {
                    return Err(Error::Locked {
                        verb: "clean",
                        lock: format!("{} ({holder})", git_dir.shown()),
                    });
                }
                None => return Ok(()),
            }
        }
    }
}

impl Work<'_> {
    /// Removes those locks of what all working trees share that a process left behind when it died; for those that
    /// somebody may hold, waits so long.
    pub(crate) fn clear_shared_locks(&self, patience: Duration) {
        let common_dir = self.repository().confined_common_dir();
        let until = std::time::Instant::now() + patience;
        let began = started(Path::new("/proc/self")).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut at_first: Option<Vec<(u64, SystemTime)>> = None;
        loop {
            let mut found = Vec::new();
            find(common_dir, "", 0, &mut found);
            // Those of kept work block nobody, since each has a name of its own; they are only in the way of a tidy eye.
            find(common_dir, "refs/agentyard/kept", 0, &mut found);
            // Where many work, there is always one; those that came after this began are of somebody alive.
            let at_first = at_first.get_or_insert_with(|| found.iter().map(Found::identity).collect());
            found.retain(|lock| at_first.contains(&lock.identity()));
            if found.is_empty() || std::time::Instant::now() > until {
                return;
            }
            // Whoever lives holds such a lock for moments, so one that outlasts them is looked into.
            found.retain(|lock| {
                let is_of_before = lock.written < began;
                lock.age()
                    >= if is_of_before {
                        SHARED_YOUNG_BEFORE
                    } else {
                        SHARED_YOUNG
                    }
            });
            if found.is_empty() {
                std::thread::sleep(PAUSE);
                continue;
            }
            let worktree = self.repository().confined_worktree();
            let places: Vec<&Path> = worktree
                .into_iter()
                .chain([common_dir])
                .map(Confined::path)
                .collect();
            let processes = Processes::look(&places);
            for lock in &found {
                if processes.user_of(lock).is_none() {
                    lock.remove();
                }
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Found {
    /// What tells it from another lock in its place, which may well get the same number.
    fn identity(&self) -> (u64, SystemTime) {
        (self.inode, self.written)
    }

    fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.written).unwrap_or_default()
    }

    /// Removes it, unless another one took its place.
    fn remove(&self) -> bool {
        let stat = rustix::fs::statat(&self.directory, self.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| stat.st_ino == self.inode)
            && rustix::fs::unlinkat(&self.directory, self.name.as_slice(), AtFlags::empty()).is_ok()
    }
}

/// Finds lock files in a directory of a git directory, and below it. No reference has such a name.
fn find(base: &Confined, name: &str, depth: usize, found: &mut Vec<Found>) {
    let name = if name.is_empty() { "." } else { name };
    if let Ok(directory) = open_child_directory(base.directory(), name.as_bytes()) {
        let path = if name == "." {
            base.path().to_owned()
        } else {
            base.path().join(name)
        };
        find_in(&directory, &path, depth, found);
    }
}

fn find_in(directory: &OwnedFd, path: &Path, depth: usize, found: &mut Vec<Found>) {
    let Ok(entries) = Dir::read_from(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        let is_lock = name.ends_with(b".lock");
        if found.len() >= MAX_LOCKS || matches!(name, b"." | b"..") || depth == 0 && !is_lock {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth > 0 => {
                if let Ok(below) = open_child_directory(directory, name) {
                    find_in(&below, &path.join(as_path(name)), depth - 1, found);
                }
            }
            FileType::RegularFile if is_lock => {
                let Ok(directory) = directory.as_fd().try_clone_to_owned() else {
                    continue;
                };
                let seconds = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
                let rest = Duration::from_nanos(stat.st_mtime_nsec);
                found.push(Found {
                    directory,
                    name: name.to_vec(),
                    path: path.join(as_path(name)),
                    written: SystemTime::UNIX_EPOCH + seconds + rest,
                    owner: stat.st_uid,
                    inode: stat.st_ino,
                });
            }
            _ => {}
        }
    }
}

/// What the processes of this machine do, as far as they can be seen.
struct Processes {
    /// Those of git that work in the repository.
    git: Vec<Process>,
    /// Lock files that are open, and in which process.
    open: Vec<(PathBuf, String)>,
}

struct Process {
    shown: String,
    /// None when it cannot be told.
    started: Option<SystemTime>,
}

impl Process {
    /// Nobody holds a lock who came after it was made.
    fn may_hold(&self, lock: &Found) -> bool {
        self.started.is_none_or(|started| started <= lock.written)
    }
}

/// When a process began, or a moment earlier: both numbers are rounded to hundredths of a second.
fn started(process: &Path) -> Option<SystemTime> {
    const ROUNDING: Duration = Duration::from_millis(20);
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program stands in parentheses, and may contain anything.
    let ticks: u64 = stat.rsplit_once(')')?.1.split(' ').nth(20)?.parse().ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime = Duration::try_from_secs_f64(uptime.split(' ').next()?.parse().ok()?).ok()?;
    let age = uptime.saturating_sub(Duration::from_millis(ticks * 10));
    SystemTime::now().checked_sub(age + ROUNDING)
}

impl Processes {
    fn look(places: &[&Path]) -> Self {
        let mut seen = Self {
            git: Vec::new(),
            open: Vec::new(),
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            let number = process.file_name().to_string_lossy().into_owned();
            if number.bytes().all(|byte| byte.is_ascii_digit()) {
                seen.look_at(&process.path(), &number, places);
            }
        }
        seen
    }

    fn look_at(&mut self, process: &Path, number: &str, places: &[&Path]) {
        let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        let name = name.trim_end();
        if name == "git" || name.starts_with("git-") {
            let is_here = |directory: &Path| places.iter().any(|place| directory.starts_with(place));
            let works_here =
                std::fs::read_link(process.join("cwd")).is_ok_and(|directory| is_here(&directory));
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            let is_told_so = environment
                .split(|byte| *byte == 0)
                .filter_map(|variable| variable.strip_prefix(b"GIT_DIR="))
                .any(|directory| is_here(as_path(directory)));
            if works_here || is_told_so {
                self.git.push(Process {
                    shown: format!("process {number} ({name}) works in this repository"),
                    started: started(process),
                });
            }
        }
        let files = std::fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        for file in files {
            if let Ok(target) = std::fs::read_link(file.path())
                && target.extension().is_some_and(|extension| extension == "lock")
            {
                self.open.push((target, format!("process {number} has it open")));
            }
        }
    }

    /// Why a lock is taken for somebody's.
    fn holder_of(&self, lock: &Found) -> Option<String> {
        if lock.owner != rustix::process::geteuid().as_raw() {
            return Some(format!("it belongs to user {}", lock.owner));
        }
        if lock.age() < YOUNG {
            return Some("it was made just now".to_owned());
        }
        // Times can be changed, and nobody waits for this: whoever is at work may hold any lock.
        self.user_of(lock)
            .or_else(|| self.git.first().map(|git| git.shown.clone()))
    }

    /// The process that uses a lock, or may.
    fn user_of(&self, lock: &Found) -> Option<String> {
        let open = self.open.iter().find(|(path, _)| *path == lock.path);
        open.map(|(_, process)| process.clone()).or_else(|| {
            let git = self.git.iter().find(|git| git.may_hold(lock));
            git.map(|git| git.shown.clone())
        })
    }
}
