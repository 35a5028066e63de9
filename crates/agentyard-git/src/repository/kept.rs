//! Repositories that are kept open between calls.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::contents::Inventory;
use super::locate::{self, Location};
use super::stamp::Stamp;
use super::{Checks, Repository};
use crate::descriptor::is_local;
use crate::status::{KeptStatus, WatchBudget};
use crate::{Confined, Error, Roots};

/// Repositories that were opened before, kept so that the next call has less to do.
///
/// Nothing is taken on trust from one call to the next. Where the repository is, and whose, is found out each
/// time. What was checked inside it holds as long as the kernel says that the checked directories did not
/// change, and so do the settings that were read. Where that cannot be told (a file system that others write
/// to, a repository with links, alternates, a worktree elsewhere or replaced objects) it is opened anew.
pub struct KeptRepositories {
    limits: KeepLimits,
    budget: Arc<WatchBudget>,
    /// The one used last is at the end.
    kept: Mutex<Vec<Arc<Kept>>>,
}

/// How much is kept.
#[derive(Clone, Debug)]
pub struct KeepLimits {
    /// How many repositories.
    pub repositories: usize,
    /// How many directories are watched, in all of them together. The kernel has a limit for each user, too.
    pub watched_directories: usize,
    /// A repository is watched when its status took as long as this, and is asked for again.
    pub watch_from: Duration,
}

/// What is kept of one repository.
struct Kept {
    /// Whose it is: what else may be read on its behalf depends on that.
    roots: Roots,
    place: Place,
    /// Its git directory, the one it shares and its working tree.
    parts: Vec<Confined>,
    status: Arc<KeptStatus>,
    open: Mutex<Option<Open>>,
}

/// A repository that was opened, and what that rested upon.
struct Open {
    repository: Arc<Repository>,
    checks: Checks,
    settings: Settings,
}

/// Files whose content stays in memory once it was read.
#[derive(PartialEq, Eq)]
struct Settings {
    stamps: [Option<Stamp>; 4],
    /// Whether all of them are old enough to be told from later ones.
    are_settled: bool,
}

/// The git directory, the one it shares and the working tree, by device and inode.
type Place = [Option<(u64, u64)>; 3];

/// With more packs than this, opening the repository takes no longer than looking at each.
const MAX_PACKS: usize = 64;

impl Default for KeepLimits {
    fn default() -> Self {
        Self {
            // As many as agents work in at once; what they weigh is bounded by the directories that are watched.
            repositories: 64,
            watched_directories: 32_768,
            watch_from: Duration::from_millis(3),
        }
    }
}

impl KeptRepositories {
    /// Nothing is kept yet.
    pub fn new(limits: KeepLimits) -> Self {
        Self {
            budget: Arc::new(WatchBudget::new(limits.watched_directories)),
            limits,
            kept: Mutex::new(Vec::new()),
        }
    }

    /// As [`Repository::open`].
    pub fn open(&self, directory: &Confined) -> Result<Arc<Repository>, Error> {
        let location = locate::locate(directory)?;
        location.check_owners()?;
        self.kept(&location).open(location)
    }

    /// Lets go of every repository that lies in a directory, or has its working tree there, so that the
    /// directory can be removed or unmounted.
    pub fn forget(&self, directory: &Path) {
        lock(&self.kept).retain(|kept| !kept.parts.iter().any(|part| part.path().starts_with(directory)));
    }

    /// What is kept of the repository, from now on if nothing is.
    fn kept(&self, location: &Location) -> Arc<Kept> {
        let place = place(location);
        let mut kept = lock(&self.kept);
        let roots = location.git_dir.roots();
        let known = |kept: &Arc<Kept>| kept.place == place && kept.roots.is_same(roots);
        let entry = match kept.iter().position(known) {
            Some(at) => kept.remove(at),
            None => {
                kept.retain(|kept| !kept.was_removed());
                let budget = Arc::clone(&self.budget);
                Arc::new(Kept {
                    roots: roots.clone(),
                    place,
                    parts: location.parts().cloned().collect(),
                    status: Arc::new(KeptStatus::new(budget, self.limits.watch_from)),
                    open: Mutex::new(None),
                })
            }
        };
        kept.push(Arc::clone(&entry));
        let surplus = kept.len().saturating_sub(self.limits.repositories);
        kept.drain(..surplus);
        entry
    }
}

impl Kept {
    /// Whether it was deleted. What is kept of it would take up room on the disk until it is let go of.
    fn was_removed(&self) -> bool {
        self.parts
            .iter()
            .any(|part| rustix::fs::fstat(part.directory()).is_ok_and(|stat| stat.st_nlink == 0))
    }

    fn open(&self, location: Location) -> Result<Arc<Repository>, Error> {
        let mut open = lock(&self.open);
        if let Some(still_open) = open.take()
            && let Some(still_open) = still_open.renewed(&location)?
        {
            return Ok(Arc::clone(&open.insert(still_open).repository));
        }
        let settings = Settings::of(&location);
        let is_local = is_local(location.git_dir.directory()) && is_local(location.common_dir.directory());
        let (mut repository, checks) = Repository::open_at(location)?;
        repository.kept_status = Some(Arc::clone(&self.status));
        let repository = Arc::new(repository);
        if is_local && checks.may_be_kept() && repository.may_be_kept() {
            *open = Some(Open {
                repository: Arc::clone(&repository),
                checks,
                settings,
            });
        }
        Ok(repository)
    }
}

impl Open {
    /// The same, checked again as far as needed; none when it has to be opened again. What a check refuses
    /// now is refused, whatever it was before.
    fn renewed(mut self, location: &Location) -> Result<Option<Self>, Error> {
        let repository = &self.repository;
        let is_same_place = repository.git_dir.path() == location.git_dir.path()
            && repository.common_dir.path() == location.common_dir.path()
            && repository.worktree.as_ref().is_none_or(|worktree| {
                let found = location.worktree.as_ref().map(Confined::path);
                found == Some(worktree.path())
            });
        if !is_same_place || !self.settings.are_current(location) || !self.checks.packs_are_current() {
            return Ok(None);
        }
        if !self.checks.are_current() {
            let checks = Checks::make(location)?;
            if !checks.may_be_kept() || !checks.have_packs_of(&self.checks) {
                return Ok(None);
            }
            self.checks = checks;
        }
        Ok(Some(self))
    }
}

impl Repository {
    fn may_be_kept(&self) -> bool {
        let local = self.local();
        let has_replacements = local.objects.store_ref().replacements().next().is_some();
        let config = local.config_snapshot();
        !has_replacements && config.string("core.worktree").is_none()
    }
}

impl Checks {
    fn may_be_kept(&self) -> bool {
        self.databases == 1
            && self.inventories.iter().all(|inventory| {
                let has_replacements = inventory.has_directory(b"refs/replace");
                !inventory.has_links() && !has_replacements && inventory.pack_files() <= MAX_PACKS
            })
    }

    fn are_current(&self) -> bool {
        self.inventories.iter().all(Inventory::is_current)
    }

    fn packs_are_current(&self) -> bool {
        self.inventories.iter().all(Inventory::packs_are_current)
    }

    fn have_packs_of(&self, former: &Self) -> bool {
        let mut pairs = self.inventories.iter().zip(&former.inventories);
        pairs.all(|(inventory, former)| inventory.has_packs_of(former))
    }
}

impl Settings {
    fn of(location: &Location) -> Self {
        let now = SystemTime::now();
        let (git_dir, common_dir) = (location.git_dir.directory(), location.common_dir.directory());
        let stamps = [
            Stamp::of(common_dir, b"config"),
            Stamp::of(git_dir, b"config.worktree"),
            Stamp::of(common_dir, b"packed-refs"),
            Stamp::of(common_dir, b"shallow"),
        ];
        Self {
            stamps,
            are_settled: stamps.iter().flatten().all(|stamp| stamp.is_settled_at(now)),
        }
    }

    fn are_current(&self, location: &Location) -> bool {
        self.are_settled && Self::of(location).stamps == self.stamps
    }
}

fn place(location: &Location) -> Place {
    let identity = |directory: &Confined| {
        let stat = rustix::fs::fstat(directory.directory()).ok()?;
        Some((stat.st_dev, stat.st_ino))
    };
    [
        identity(&location.git_dir),
        identity(&location.common_dir),
        location.worktree.as_ref().and_then(identity),
    ]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for KeptRepositories {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeptRepositories")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
