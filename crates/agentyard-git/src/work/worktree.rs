//! `git worktree`: working trees beside the main one.

mod remove;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, RenameFlags};

use crate::init::is_empty;
use crate::program::LeftOut;
use crate::roots::{invalid, shown};
use crate::worktrees::lexically_normal;
use crate::{BranchName, Confined, Error, Kept, ObjectId, Repository, Revision, Work, Worktree, text};
pub use remove::WorktreeRemoval;

/// A working tree to be added.
#[derive(Debug, Clone)]
pub struct WorktreeAddition {
    /// Where: absolute, or relative to the repository's top. It does not exist, or is an empty directory.
    pub path: String,
    /// The branch to check out; one that does not exist is made. Without it and `commitish`, the branch has the
    /// directory's name.
    pub branch: Option<BranchName>,
    /// The commit at which a new branch begins; without a branch, what to check out.
    pub commitish: Option<Revision>,
    /// Check out a commit, and no branch.
    pub detach: bool,
    /// Also when another working tree has the branch checked out.
    pub force: bool,
}

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

/// What a new working tree has checked out.
enum Checkout {
    Branch(BranchName),
    NewBranch(BranchName, Option<Revision>),
    Commit(ObjectId),
}

impl Work<'_> {
    /// Adds a working tree.
    pub fn add_worktree(&self, addition: &WorktreeAddition) -> Result<WorktreeChange, Error> {
        let path = self.worktree_path(&addition.path);
        let checkout = self.wanted_checkout(addition, &path)?;
        let roots = self.repository().confined_common_dir().roots();
        let place = roots.make_directory(&path)?;
        if !place.is_new() && !is_empty(&place.directory)? {
            return Err(Error::state(
                format!("{} exists, and is not empty", place.directory.shown()),
                "choose a directory that is empty or does not exist",
            ));
        }
        match self.check_out_at(&checkout, addition.force, &place.directory) {
            Ok(()) => {}
            Err(error) => {
                place.undo();
                return Err(error);
            }
        }
        let added = Repository::open(&place.directory)?;
        let head = added.head()?;
        Ok(WorktreeChange {
            path: place.directory.shown(),
            branch: head.branch,
            commit: head.commit,
            left_out: self.left_out(&["post-checkout"]),
            ..WorktreeChange::default()
        })
    }

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

    fn wanted_checkout(&self, addition: &WorktreeAddition, path: &Path) -> Result<Checkout, Error> {
        let local = self.repository().local();
        let resolve = |revision: &Revision| revision.resolve_commit(&local).map(ObjectId::from);
        if addition.detach && addition.branch.is_some() {
            return Err(Error::invalid(
                "`branch` together with `detach`",
                "name a `commitish` instead",
            ));
        }
        if let Some(branch) = &addition.branch {
            return self.branch_checkout(branch, addition.commitish.as_ref());
        }
        match &addition.commitish {
            Some(revision) if addition.detach => Ok(Checkout::Commit(resolve(revision)?)),
            Some(revision) => match BranchName::new(revision.as_str()) {
                Ok(branch) if self.tip(&branch.reference())?.is_some() => Ok(Checkout::Branch(branch)),
                _ => Ok(Checkout::Commit(resolve(revision)?)),
            },
            None if addition.detach => Ok(Checkout::Commit(self.head_for_worktree()?)),
            None => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let branch = BranchName::new(name.unwrap_or_default()).map_err(|_| {
                    Error::invalid(
                        format!("the directory name of {}", shown(path)),
                        "it is no name for a branch; pass `branch` or `commitish`",
                    )
                })?;
                self.branch_checkout(&branch, None)
            }
        }
    }

    fn branch_checkout(&self, branch: &BranchName, start: Option<&Revision>) -> Result<Checkout, Error> {
        match (self.tip(&branch.reference())?, start) {
            (Some(_), None) => Ok(Checkout::Branch(branch.clone())),
            (Some(tip), Some(start)) => {
                let wanted: ObjectId = start.resolve_commit(&self.repository().local())?.into();
                if wanted == tip {
                    return Ok(Checkout::Branch(branch.clone()));
                }
                Err(Error::state(
                    format!("the branch `{branch}` exists already, and is not at `{start}`"),
                    "leave out `commitish` to check it out as it is, or choose another branch name",
                ))
            }
            (None, start) => {
                match start {
                    Some(start) => drop(start.resolve_commit(&self.repository().local())?),
                    None => drop(self.head_for_worktree()?),
                }
                Ok(Checkout::NewBranch(branch.clone(), start.cloned()))
            }
        }
    }

    fn head_for_worktree(&self) -> Result<ObjectId, Error> {
        self.head()?.ok_or_else(|| {
            Error::state(
                "no working tree can be added: there is no commit yet to check out",
                "make the first commit (git_commit)",
            )
        })
    }

    fn check_out_at(&self, checkout: &Checkout, force: bool, directory: &Confined) -> Result<(), Error> {
        let mut invocation = self
            .invoke("worktree")
            .words(&["add", "--quiet"])
            .word_if(force, "--force")
            .may_write(directory);
        let path = directory.path();
        invocation = match checkout {
            Checkout::Branch(branch) => {
                if !force {
                    self.refuse_checked_out(branch)?;
                }
                invocation.end_of_options().operand(path).operand(branch)
            }
            Checkout::NewBranch(branch, start) => {
                let invocation = invocation.value("-b", branch).end_of_options().operand(path);
                match start {
                    None => invocation.object(&self.head_for_worktree()?),
                    Some(start) => match self.remote_branch(start)? {
                        Some(remote_branch) => invocation.operand(remote_branch.as_bstr().to_string()),
                        None => {
                            let commit = start.resolve_commit(&self.repository().local())?.into();
                            invocation.object(&commit)
                        }
                    },
                }
            }
            Checkout::Commit(commit) => invocation
                .word("--detach")
                .end_of_options()
                .operand(path)
                .object(commit),
        };
        invocation.run().map(drop)
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
