//! Bases: checked-out trees that views stand on. A base is there whole or not at all, and never changes.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::base_name::BaseName;
use super::base_owner::give_base;
use super::checkout::{Target, check_out};
use super::layout::{check_name, entries, failed, make_directory, make_root, open_root};
use super::lock::hold;
use super::mirror::sync_directory;
use super::{Trees, Way};
use crate::descriptor::{open_child_directory, open_child_file};
use crate::program::Git;
use crate::remove_tree::remove_tree;
use crate::tree_diff::differing_paths;
use crate::{Confined, Error, ObjectId, Progress, Repository};

/// A base that differs in more paths than this from what is wanted is of no use.
const MAX_DIFFERING: usize = 2_000;

/// So many bases are compared at most, the newest first.
const MAX_COMPARED: usize = 16;

/// What a half-made base is called: this, and its name.
const NEW: &str = ".new-";

/// With more files than this it is worth a second that git need not hash any of them again.
const MANY_FILES: u32 = 500;

/// The clock by which files are stamped may be so much behind.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// A base.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) name: BaseName,
    path: PathBuf,
}

impl Base {
    pub(super) fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    /// The index that fits the tree, and through an overlay the view. Nobody writes to it: git replaces an index as a
    /// whole, so views may share the file until they change theirs.
    pub(super) fn index(&self) -> PathBuf {
        self.path.join("index")
    }
}

impl Trees {
    /// Has a base ready for a commit, in the background: views of it then open at once. That takes as long as a
    /// checkout, and its space on disk until it is pruned; views open over a base nearby too, only not as fast.
    pub fn refresh_base(
        &self,
        git: &Git,
        key: &str,
        commit: &ObjectId,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), Error> {
        check_name("repository", key)?;
        if self.way()? == Way::Checkout || self.base(key, &self.base_name(commit)).is_some() {
            return Ok(());
        }
        let mirror = self.open_mirror(key)?;
        self.make_base(git, &mirror, key, commit, cancel, report)
            .map(drop)
    }

    /// Removes the bases that no view on disk stands on, but for those of the commits in `keep`, and what processes
    /// left that died while they made one.
    pub fn prune_bases(&self, key: &str, keep: &[ObjectId], cancel: &AtomicBool) -> Result<(), Error> {
        check_name("repository", key)?;
        let path = self.bases_path(key);
        if !path.exists() {
            return Ok(());
        }
        let bases = open_root(&path)?;
        // No view comes to stand on a base between the look and the removal.
        let _lock = self.lock_registrations(key, cancel)?;
        let mut wanted = self.used_bases(key)?;
        wanted.extend(keep.iter().map(|commit| self.base_name(commit)));
        for name in entries(&path)? {
            let base = name.strip_prefix(NEW).unwrap_or(&name).parse::<BaseName>();
            if base.is_ok_and(|base| name.starts_with(NEW) || !wanted.contains(&base)) {
                remove_base(&bases, &name, cancel)?;
            }
        }
        Ok(())
    }

    /// The base for a view of a commit: its own, one nearby, or else a new one.
    pub(super) fn base_for(
        &self,
        git: &Git,
        mirror: &Repository,
        key: &str,
        commit: &ObjectId,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<Base, Error> {
        match self.nearest_base(mirror, key, commit, cancel)? {
            Some((base, _)) => Ok(base),
            None => self.make_base(git, mirror, key, commit, cancel, report),
        }
    }

    /// The base of this name, when there is one.
    pub(super) fn base(&self, key: &str, name: &BaseName) -> Option<Base> {
        let path = self.bases_path(key).join(name.to_string());
        path.is_dir().then_some(Base { name: *name, path })
    }

    /// What the base of a commit is called that new views may stand on.
    fn base_name(&self, commit: &ObjectId) -> BaseName {
        BaseName {
            commit: *commit,
            owner: self.owner(),
        }
    }

    /// The base that differs least from a commit, and in how many paths.
    fn nearest_base(
        &self,
        mirror: &Repository,
        key: &str,
        commit: &ObjectId,
        cancel: &AtomicBool,
    ) -> Result<Option<(Base, usize)>, Error> {
        if let Some(base) = self.base(key, &self.base_name(commit)) {
            return Ok(Some((base, 0)));
        }
        let local = mirror.local();
        let mut nearest: Option<(Base, usize)> = None;
        for base in self.newest_bases(key)? {
            let limit = nearest.as_ref().map_or(MAX_DIFFERING, |(_, distance)| *distance);
            let trees = [tree_of(&local, &base.name.commit)?, tree_of(&local, commit)?];
            if let Some(distance) = differing_paths(&local, trees, limit, cancel)? {
                nearest = Some((base, distance));
            }
        }
        Ok(nearest)
    }

    fn newest_bases(&self, key: &str) -> Result<Vec<Base>, Error> {
        let owner = self.owner();
        let mut bases: Vec<_> = entries(&self.bases_path(key))?
            .into_iter()
            .filter_map(|name| self.base(key, &name.parse().ok()?))
            .filter(|base| base.name.owner == owner)
            .filter_map(|base| Some((base.index().metadata().ok()?.modified().ok()?, base)))
            .collect();
        bases.sort_by(|(one, _), (other, _)| other.cmp(one));
        bases.truncate(MAX_COMPARED);
        Ok(bases.into_iter().map(|(_, base)| base).collect())
    }

    /// Makes the base of a commit. When another process does so already, it is waited for.
    fn make_base(
        &self,
        git: &Git,
        mirror: &Repository,
        key: &str,
        commit: &ObjectId,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<Base, Error> {
        let bases = make_root(&self.bases_path(key))?;
        let base_name = self.base_name(commit);
        let name = format!("{NEW}{base_name}");
        let path = bases.path().join(&name);
        // Whoever holds the lock of the directory makes the base. It is removed in the end, so that one who waited
        // holds the lock of something that is gone.
        let _held = loop {
            if let Some(base) = self.base(key, &base_name) {
                return Ok(base);
            }
            make_directory(&path)?;
            let Ok(directory) = open_child_directory(bases.directory(), name.as_bytes()) else {
                continue;
            };
            hold(&directory, &path, cancel)?;
            if is_at(&bases, &name, &directory) {
                break directory;
            }
        };
        let making = open_root(&path)?;
        // What somebody left who died. A git that outlived them still writes there: each attempt has its own place.
        for left in entries(&path)? {
            if std::fs::remove_file(path.join(&left)).is_err() {
                remove_tree(&making, left.as_ref(), cancel)?;
            }
        }
        let attempt = format!("{:016x}", getrandom::u64().unwrap_or_default());
        let new = make_root(&path.join(&attempt))?;
        let tree = make_tree(new.path())?;
        let target = Target {
            tree: &tree,
            index_directory: &new,
            index: "index",
        };
        let made = check_out(git, mirror, &target, (None, commit), cancel, report)
            .and_then(|()| match base_name.owner {
                Some(owner) => give_base(&new, &tree, commit, owner, cancel),
                None => Ok(()),
            })
            .and_then(|()| settle(&new))
            .and_then(|()| {
                let (from, to) = (making.directory(), bases.directory());
                rustix::fs::renameat_with(from, &*attempt, to, base_name.to_string(), RenameFlags::NOREPLACE)
                    .map_err(failed("made", &path))
            })
            .and_then(|()| sync_directory(&bases));
        let removed = remove_tree(&bases, name.as_ref(), &AtomicBool::new(false));
        made.and(removed)?;
        self.base(key, &base_name).ok_or_else(|| {
            Error::state(
                format!("the base of {commit} was removed as soon as it was made"),
                "try again",
            )
        })
    }
}

/// Removes a base, whole or half-made, unless somebody is making it.
fn remove_base(bases: &Confined, name: &str, cancel: &AtomicBool) -> Result<(), Error> {
    let Ok(directory) = open_child_directory(bases.directory(), name.as_bytes()) else {
        return Ok(());
    };
    let is_free = rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !is_free || !is_at(bases, name, &directory) {
        return Ok(());
    }
    // Nobody finds half a base under its name, and whoever makes it anew waits until it is gone.
    let gone = format!("{NEW}{}", name.strip_prefix(NEW).unwrap_or(name));
    let (parent, flags) = (bases.directory(), RenameFlags::NOREPLACE);
    match rustix::fs::renameat_with(parent, name, parent, &*gone, flags) {
        _ if gone == name => remove_tree(bases, name.as_ref(), cancel),
        Ok(()) => remove_tree(bases, gone.as_ref(), cancel),
        Err(Errno::EXIST | Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("removed", &bases.path().join(name))(errno)),
    }
}

/// Whether a directory is still the one that has this name.
fn is_at(parent: &Confined, name: &str, directory: &OwnedFd) -> bool {
    let there = rustix::fs::statat(parent.directory(), name, AtFlags::SYMLINK_NOFOLLOW);
    let held = rustix::fs::fstat(directory);
    matches!((there, held), (Ok(there), Ok(held)) if (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino))
}

/// The top of a working tree is made as git would make it: others may look in, as far as the directories above allow.
fn make_tree(path: &Path) -> Result<Confined, Error> {
    let tree = path.join("tree");
    rustix::fs::mkdir(&tree, Mode::from_raw_mode(0o755)).map_err(failed("made", &tree))?;
    open_root(&tree)
}

/// Has everything on disk, and the index younger than every file that it lists: git hashes those again that are not
/// older than the index, as they may have been changed after it was written. It counts in whole seconds.
fn settle(base: &Confined) -> Result<(), Error> {
    let written = failed("written", base.path());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(base.path(), flags, Mode::empty()).map_err(&written)?;
    let checked_out = SystemTime::now();
    rustix::fs::syncfs(&directory).map_err(&written)?;
    if index_entries(&directory) > MANY_FILES {
        std::thread::sleep(until_next_second(checked_out, SystemTime::now()));
    }
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    rustix::fs::utimensat(&directory, "index", &times, AtFlags::empty()).map_err(&written)?;
    // It is shared between views: whoever would write into it is stopped, as far as rights stop them.
    rustix::fs::chmodat(&directory, "index", Mode::from_raw_mode(0o444), AtFlags::empty())
        .map_err(&written)?;
    rustix::fs::fsync(&directory).map_err(&written)
}

/// How many files an index lists, by its header: four letters, a version, and the count.
fn index_entries(directory: &OwnedFd) -> u32 {
    let header = open_child_file(directory, b"index")
        .ok()
        .flatten()
        .and_then(|mut file| {
            let mut header = [0; 12];
            file.read_exact(&mut header).ok()?;
            Some(header)
        });
    header.map_or(0, |[.., a, b, c, d]| u32::from_be_bytes([a, b, c, d]))
}

/// How long it is from `now` until the second after that of `then` has begun.
fn until_next_second(then: SystemTime, now: SystemTime) -> Duration {
    let since_epoch = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let next = Duration::from_secs(since_epoch(then).as_secs() + 1) + CLOCK_STEP;
    next.saturating_sub(since_epoch(now)).min(Duration::from_secs(2))
}

/// The tree of a commit.
fn tree_of(local: &gix::Repository, commit: &ObjectId) -> Result<gix::ObjectId, Error> {
    let found = local.find_commit(gix::ObjectId::from(*commit)).ok();
    let tree = found.and_then(|commit| Some(commit.tree_id().ok()?.detach()));
    tree.ok_or(Error::NotACommit { id: *commit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_second_is_waited_for_unless_it_has_begun() {
        let at = |milliseconds| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
        for (then, now, wait) in [
            (5_000, 5_100, 920),
            (5_999, 5_999, 21),
            (5_999, 6_020, 0),
            (5_000, 9_000, 0),
        ] {
            let expected = Duration::from_millis(wait);
            assert_eq!(until_next_second(at(then), at(now)), expected, "{then} {now}");
        }
    }
}
