//! The working trees of a repository.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use gix::refs::FullName;
use rustix::fs::{Dir, OFlags};

use crate::descriptor::{as_path, open_beneath, open_child_directory, read_child_file};
use crate::error::check_cancelled;
use crate::repository::PATH_FILE_LIMIT;
use crate::roots::shown;
use crate::{Error, ObjectId, Repository, display_path, text};

/// The working trees of a repository: the main one first, then those inside the roots by path, then the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeList {
    pub worktrees: Vec<Worktree>,
    /// There are more than [`MAX_WORKTREES`].
    pub truncated: bool,
}

/// A working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    pub place: Place,
    /// The commit that is checked out; none before the first one, or where that cannot be told.
    pub head: Option<ObjectId>,
    /// The branch, without `refs/heads/`; none when the head is detached.
    pub branch: Option<String>,
    /// A commit is checked out, and no branch.
    pub detached: bool,
    /// The main repository has no working tree. `head` and `branch` are none then.
    pub bare: bool,
    /// Locked against pruning, moving and removal; with the reason, which may be empty.
    pub locked: Option<String>,
    /// Why `git worktree prune` would remove it. Not looked into outside the roots.
    pub prunable: Option<&'static str>,
    /// It belongs to the repository itself, and cannot be removed.
    pub main: bool,
    /// It is the one that was opened.
    pub current: bool,
}

/// Where a working tree is, as far as the caller may know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Its path, inside the roots.
    Inside(String),
    /// Somewhere that the caller may not use.
    Outside,
}

/// How many linked working trees are listed.
pub const MAX_WORKTREES: usize = 1000;

/// How much of the reason for a lock is shown.
const MAX_REASON: usize = 1024;

impl Place {
    /// The path, unless it is outside the roots.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Inside(path) => Some(path),
            Self::Outside => None,
        }
    }
}

impl Repository {
    /// The main working tree and the linked ones, like `git worktree list`.
    pub fn worktrees(&self, cancel: &AtomicBool) -> Result<WorktreeList, Error> {
        let (linked, truncated) = linked(self, cancel)?;
        let mut linked: Vec<Worktree> = linked.into_iter().map(|linked| linked.worktree).collect();
        linked.sort_by(|one, other| one.place.cmp(&other.place));
        let mut worktrees = vec![main(self)];
        worktrees.append(&mut linked);
        Ok(WorktreeList { worktrees, truncated })
    }
}

/// The branches that other working trees than this one have checked out, and where.
pub(crate) fn checked_out_elsewhere(
    repository: &Repository,
    cancel: &AtomicBool,
) -> Result<Vec<(FullName, Place)>, Error> {
    let (linked, _) = linked(repository, cancel)?;
    let linked = linked
        .into_iter()
        .filter(|linked| !linked.worktree.current)
        .filter_map(|linked| Some((linked.branch?, linked.worktree.place)));
    let main = main(repository);
    let head = Head::read(&repository.local(), repository.confined_common_dir().directory());
    let of_main = head
        .branch
        .filter(|_| !main.current && !main.bare)
        .map(|branch| (branch, main.place));
    Ok(linked.chain(of_main).collect())
}

fn main(repository: &Repository) -> Worktree {
    let local = repository.local();
    let common_dir = repository.confined_common_dir();
    let current = repository.git_dir() == repository.common_dir();
    let bare = if current {
        repository.worktree().is_none()
    } else {
        local.config_snapshot().boolean("core.bare") == Some(true)
    };
    let path = match repository.worktree() {
        Some(worktree) if current => worktree,
        _ if bare => common_dir.path(),
        _ => without_dot_git(common_dir.path()),
    };
    let head = if bare {
        Head::default()
    } else {
        Head::read(&local, common_dir.directory())
    };
    Worktree {
        place: place(repository, path),
        head: head.commit.map(Into::into),
        branch: head.branch.map(|branch| display_path(branch.shorten())),
        detached: head.detached,
        bare,
        locked: None,
        prunable: None,
        main: true,
        current,
    }
}

/// A linked working tree, and the full name of its branch.
struct Linked {
    worktree: Worktree,
    branch: Option<FullName>,
}

/// The linked working trees, and whether there are too many.
fn linked(repository: &Repository, cancel: &AtomicBool) -> Result<(Vec<Linked>, bool), Error> {
    let common_dir = repository.confined_common_dir();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let Ok(directory) = open_beneath(common_dir.directory(), Path::new("worktrees"), flags) else {
        return Ok((Vec::new(), false));
    };
    let read_error = |errno: rustix::io::Errno| Error::ReadFile {
        path: shown(&common_dir.path().join("worktrees")),
        source: errno.into(),
    };
    let local = repository.local();
    let mut worktrees = Vec::new();
    for entry in Dir::read_from(&directory).map_err(read_error)? {
        check_cancelled(cancel)?;
        let entry = entry.map_err(read_error)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let Ok(own) = open_child_directory(&directory, name) else {
            continue;
        };
        if worktrees.len() == MAX_WORKTREES {
            return Ok((worktrees, true));
        }
        worktrees.push(one(repository, &local, name, &own));
    }
    Ok((worktrees, false))
}

/// A linked working tree, from its directory under `worktrees`.
fn one(repository: &Repository, local: &gix::Repository, name: &[u8], own: &OwnedFd) -> Linked {
    let git_dir = repository.common_dir().join("worktrees").join(as_path(name));
    let (place, prunable) = match dot_git_of(&git_dir, own) {
        Ok(dot_git) => {
            let place = place(repository, without_dot_git(&dot_git));
            let is_missing = place.path().is_some()
                && matches!(
                    repository.confined_common_dir().roots().find(&dot_git),
                    Err(Error::NotFound { .. } | Error::NotADirectory { .. })
                );
            let reason = "its `.git` file does not exist; the directory was moved or deleted";
            (place, is_missing.then_some(reason))
        }
        Err(reason) => (Place::Inside(shown(&git_dir)), Some(reason)),
    };
    let locked = read_child_file(own, b"locked", PATH_FILE_LIMIT)
        .unwrap_or_else(|_| Some(Vec::new()))
        .map(|reason| {
            let reason = text::one_line(reason.to_str_lossy().trim());
            reason.chars().take(MAX_REASON).collect()
        });
    let head = Head::read(local, own);
    let worktree = Worktree {
        place,
        head: head.commit.map(Into::into),
        branch: head.branch.as_ref().map(|branch| display_path(branch.shorten())),
        detached: head.detached,
        bare: false,
        prunable: prunable.filter(|_| locked.is_none()),
        locked,
        main: false,
        current: repository.git_dir() == git_dir,
    };
    Linked {
        worktree,
        branch: head.branch,
    }
}

/// The `.git` file of a linked working tree, or why there is none.
fn dot_git_of(git_dir: &Path, own: &OwnedFd) -> Result<PathBuf, &'static str> {
    let content = read_child_file(own, b"gitdir", PATH_FILE_LIMIT)
        .map_err(|_| "its `gitdir` file cannot be read")?
        .ok_or("its `gitdir` file does not exist")?;
    let target = content.trim_end_with(|character| matches!(character, '\n' | '\r'));
    if target.is_empty() || target.contains(&0) {
        return Err("its `gitdir` file is invalid");
    }
    Ok(lexically_normal(&git_dir.join(as_path(target))))
}

/// Resolves `..` by name. What is made of it is looked up inside the roots.
pub(crate) fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            component => normal.push(component),
        }
    }
    normal
}

fn without_dot_git(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if path.file_name().is_some_and(|name| name.as_bytes() == b".git") => parent,
        _ => path,
    }
}

/// Outside is all that does not lie in the roots, whether it exists or not.
fn place(repository: &Repository, path: &Path) -> Place {
    match repository.confined_common_dir().roots().open_directory(path) {
        Ok(directory) => Place::Inside(directory.shown()),
        Err(Error::NotFound { .. } | Error::NotADirectory { .. }) => Place::Inside(shown(path)),
        Err(_) => Place::Outside,
    }
}

/// What a `HEAD` file says.
#[derive(Default)]
struct Head {
    commit: Option<gix::ObjectId>,
    branch: Option<FullName>,
    detached: bool,
}

impl Head {
    /// What cannot be read is nothing.
    fn read(local: &gix::Repository, directory: impl std::os::fd::AsFd) -> Self {
        let content = read_child_file(directory, b"HEAD", PATH_FILE_LIMIT)
            .ok()
            .flatten();
        let content: BString = content.unwrap_or_default().trim().into();
        match content.strip_prefix(b"ref:") {
            Some(name) => {
                let branch = FullName::try_from(name.trim().as_bstr().to_owned()).ok();
                let reference = branch
                    .as_ref()
                    .and_then(|name| local.try_find_reference(name).ok()?);
                Self {
                    commit: reference.and_then(|mut reference| Some(reference.peel_to_id().ok()?.detach())),
                    branch,
                    detached: false,
                }
            }
            None => {
                let commit = gix::ObjectId::from_hex(&content).ok();
                Self {
                    commit,
                    branch: None,
                    detached: commit.is_some(),
                }
            }
        }
    }
}
