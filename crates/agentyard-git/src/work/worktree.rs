//! `git worktree`: working trees beside the main one.

mod add;
mod remove;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, RenameFlags};

use crate::program::LeftOut;
use crate::roots::{invalid, shown};
use crate::worktrees::lexically_normal;
use crate::{Confined, Error, Kept, ObjectId, Repository, Work, Worktree, text};
pub use add::WorktreeAddition;
pub use remove::WorktreeRemoval;

/// What became of a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeChange {
    /// Where it is, or was.
    pub path: String,
    /// Where it was before.
    pub moved_from: Option<String>,
    pub branch: Option<String>,
    pub commit: Option<ObjectId>,
    /// Where what was thrown away is kept.
    pub kept: Vec<Kept>,
    /// What git was kept from running.
    pub left_out: LeftOut,
}

impl Work<'_> {
    /// Moves a working tree.
    pub fn move_worktree(&self, from: &str, to: &str) -> Result<WorktreeChange, Error> {
        let (worktree, directory) = self.linked_worktree(from)?;
        self.refuse_current(&worktree, "moved")?;
        refuse_locked(&worktree)?;
        let own = Repository::open(&directory)?;
        if rustix::fs::statat(
            own.confined_git_dir().directory(),
            "modules",
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .is_ok()
        {
            return Err(Error::state(
                format!(
                    "{} has submodules, and cannot be moved with them",
                    directory.shown()
                ),
                "add another working tree for its branch, and remove this one",
            ));
        }
        let target = self.worktree_path(to);
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(invalid(&target, "it names no directory"));
        };
        let (old_parent, old_name) = parent_and_name(&directory)?;
        let roots = self.repository().confined_common_dir().roots();
        let place = roots.make_directory(parent)?;
        check_name(&target, name)?;
        let renamed = rustix::fs::renameat_with(
            old_parent.directory(),
            old_name,
            place.directory.directory(),
            name,
            RenameFlags::NOREPLACE,
        );
        if let Err(errno) = renamed {
            place.undo();
            let reason = match errno {
                rustix::io::Errno::EXIST => "something is there already".to_owned(),
                rustix::io::Errno::INVAL => "it would lie in itself".to_owned(),
                errno => std::io::Error::from(errno).to_string(),
            };
            return Err(Error::state(
                format!(
                    "{} cannot be moved to {}: {reason}",
                    directory.shown(),
                    shown(&target)
                ),
                "choose another `new_path`, on the same file system, that does not exist yet",
            ));
        }
        let moved = place.directory.child(name)?;
        self.invoke("worktree")
            .word("repair")
            .may_write(&moved)
            .end_of_options()
            .operand(moved.path())
            .run()?;
        Ok(WorktreeChange {
            path: moved.shown(),
            moved_from: Some(directory.shown()),
            branch: worktree.branch,
            commit: worktree.head,
            ..WorktreeChange::default()
        })
    }

    /// Locks a working tree against being pruned, moved or removed.
    pub fn lock_worktree(&self, path: &str, reason: Option<&str>) -> Result<WorktreeChange, Error> {
        let (worktree, path) = self.find_worktree(path)?;
        refuse_locked(&worktree)?;
        let mut invocation = self.invoke("worktree").word("lock");
        if let Some(reason) = reason {
            if text::one_line(reason) != reason || reason.len() > 1024 {
                return Err(Error::invalid(
                    "the reason",
                    "it is one line of at most 1024 bytes",
                ));
            }
            invocation = invocation.option("--reason", reason);
        }
        invocation.end_of_options().operand(&path).run()?;
        Ok(changed(worktree, &path))
    }

    /// Takes the lock off a working tree.
    pub fn unlock_worktree(&self, path: &str) -> Result<WorktreeChange, Error> {
        let (worktree, path) = self.find_worktree(path)?;
        self.invoke("worktree")
            .word("unlock")
            .end_of_options()
            .operand(&path)
            .run()?;
        Ok(changed(worktree, &path))
    }

    /// The absolute path that a caller means.
    fn worktree_path(&self, path: &str) -> PathBuf {
        let repository = self.repository();
        let top = repository.worktree().unwrap_or(repository.git_dir());
        let path = text::parse_path(path);
        top.join(Path::new(OsStr::from_bytes(&path)))
    }

    /// The working tree of this repository that is at a path, whether its directory exists or not.
    fn find_worktree(&self, path: &str) -> Result<(Worktree, PathBuf), Error> {
        let asked = self.worktree_path(path);
        let roots = self.repository().confined_common_dir().roots();
        let path = match roots.open_directory(&asked) {
            Ok(directory) => directory.path().to_owned(),
            Err(Error::NotFound { .. }) => lexically_normal(&asked),
            Err(error) => return Err(error),
        };
        let shown_path = shown(&path);
        let list = self.repository().worktrees(self.cancel())?;
        let mut found = list
            .worktrees
            .into_iter()
            .filter(|worktree| worktree.place.path() == Some(shown_path.as_str()));
        match found.next() {
            Some(worktree) if worktree.main => Err(Error::invalid(
                format!("the working tree {shown_path}"),
                "it is the repository's main one, and stays where and as it is",
            )),
            Some(worktree) => Ok((worktree, path)),
            None => Err(Error::Missing {
                what: format!(
                    "{shown_path} is no working tree of this repository; git_worktree with mode `list` names those \
                     there are"
                ),
            }),
        }
    }

    /// As [`Work::find_worktree`], for one whose directory exists.
    fn linked_worktree(&self, path: &str) -> Result<(Worktree, Confined), Error> {
        let (worktree, path) = self.find_worktree(path)?;
        let roots = self.repository().confined_common_dir().roots();
        match roots.open_directory(&path) {
            Ok(directory) => Ok((worktree, directory)),
            Err(Error::NotFound { path }) => Err(Error::state(
                format!("the directory of the working tree {path} does not exist any more"),
                "git_worktree with mode `prune` forgets working trees whose directories are gone",
            )),
            Err(error) => Err(error),
        }
    }

    fn refuse_current(&self, worktree: &Worktree, done: &str) -> Result<(), Error> {
        if !worktree.current {
            return Ok(());
        }
        Err(Error::state(
            format!("the working tree in which the call works cannot be {done}"),
            "pass the directory of the repository's main working tree as `path`",
        ))
    }
}

fn refuse_locked(worktree: &Worktree) -> Result<(), Error> {
    let Some(reason) = &worktree.locked else {
        return Ok(());
    };
    let place = worktree.place.path().unwrap_or("outside the roots");
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    Err(Error::state(
        format!("the working tree {place} is locked{reason}"),
        "git_worktree with mode `unlock` takes the lock off",
    ))
}

fn changed(worktree: Worktree, path: &Path) -> WorktreeChange {
    WorktreeChange {
        path: shown(path),
        branch: worktree.branch,
        commit: worktree.head,
        ..WorktreeChange::default()
    }
}

fn parent_and_name(directory: &Confined) -> Result<(Confined, &OsStr), Error> {
    match (directory.parent()?, directory.path().file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(Error::refused(
            format!(
                "{} is a directory that Agentyard was given, and is neither moved nor removed",
                directory.shown()
            ),
            "do that outside of Agentyard",
        )),
    }
}

fn check_name(path: &Path, name: &OsStr) -> Result<(), Error> {
    if name.eq_ignore_ascii_case(".git") {
        return Err(invalid(path, "it is inside a git directory"));
    }
    match name.to_str() {
        Some(name) if text::one_line(name) == name => Ok(()),
        _ => Err(invalid(path, "its name has control characters, or is not UTF-8")),
    }
}
