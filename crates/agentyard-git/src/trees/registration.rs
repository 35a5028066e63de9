//! A mirror knows its working trees: a directory for each, `worktrees/<name>`, with its HEAD and its index.
//!
//! They are written here rather than by `git worktree add`, which would take several processes and the time of a
//! checkout. By descriptor: a mirror is written to by whatever runs in its workspaces.

use std::io::Write as _;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::Trees;
use super::layout::{check_name, entries, failed};
use crate::descriptor::{as_path, read_child_file};
use crate::program::{Git, Trust};
use crate::remove_tree::remove_tree;
use crate::repository::PATH_FILE_LIMIT;
use crate::{BranchName, Confined, Error, ObjectId, Repository, Work};

const WORKTREES: &str = "worktrees";

/// While this file is there, git neither prunes the working tree, which after a restart is not mounted yet, nor
/// removes or moves it.
const LOCKED: &str = "an Agentyard workspace; close it there\n";

/// Notes a working tree in the mirror, with its branch checked out and no index yet.
pub(super) fn register(
    mirror: &Repository,
    name: &str,
    branch: &BranchName,
    tree: &Path,
) -> Result<Confined, Error> {
    let common = mirror.confined_common_dir();
    make_child(common, WORKTREES)?;
    let worktrees = common.child(WORKTREES.as_ref())?;
    make_child(&worktrees, name)?;
    let directory = worktrees.child(name.as_ref())?;
    let git_file = tree.join(".git");
    let mut git_file = git_file.into_os_string().into_encoded_bytes();
    git_file.push(b'\n');
    let head = format!("ref: {}\n", branch.reference());
    let files: [(&str, &[u8]); 4] = [
        ("locked", LOCKED.as_bytes()),
        ("gitdir", &git_file),
        ("commondir", b"../..\n"),
        ("HEAD", head.as_bytes()),
    ];
    for (file, content) in files {
        write_new(directory.directory(), file, content).map_err(failed("made", directory.path()))?;
    }
    Ok(directory)
}

/// What the `.git` file of a working tree says.
pub(super) fn git_file(registration: &Confined) -> Vec<u8> {
    let path = registration.path().as_os_str().as_encoded_bytes();
    [b"gitdir: ", path, b"\n"].concat()
}

/// Gives a working tree the index of its base.
pub(super) fn share_index(registration: &Confined, index: &Path) -> Result<(), Error> {
    let made = failed("made", &registration.path().join("index"));
    let linked = rustix::fs::linkat(CWD, index, registration.directory(), "index", AtFlags::empty());
    match linked {
        Ok(()) => Ok(()),
        // Mirrors may be kept on another file system than trees, and a file has so many names at most.
        Err(Errno::XDEV | Errno::MLINK | Errno::PERM) => {
            let content = std::fs::read(index)
                .map_err(|error| made(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
            write_new(registration.directory(), "index", &content).map_err(made)
        }
        Err(errno) => Err(made(errno)),
    }
}

/// Makes a branch at a commit, unless there is one of this name, and tells where it is.
pub(super) fn make_branch(
    git: &Git,
    mirror: &Repository,
    branch: &BranchName,
    start: &ObjectId,
    cancel: &AtomicBool,
) -> Result<ObjectId, Error> {
    let work = Work::new(git, mirror, Trust::Untrusted, cancel, &|_| {});
    work.refuse_checked_out(branch)?;
    if let Some(tip) = work.tip(&branch.reference())? {
        return Ok(tip);
    }
    let absent = gix::ObjectId::null(gix::ObjectId::from(*start).kind());
    let made = work
        .invoke("update-ref")
        .word("--create-reflog")
        .value("-m", format!("branch: Created from {start}"))
        .end_of_options()
        .operand(branch.reference())
        .object(start)
        .object(&absent.into())
        .run();
    match made {
        Ok(_) => Ok(*start),
        // Somebody else may have made it meanwhile, such as the git of a server that was killed, which outlives it.
        Err(error) => work.tip(&branch.reference())?.ok_or(error),
    }
}

impl Trees {
    /// The directory of a working tree in its mirror.
    pub(super) fn registration(&self, mirror: &Repository, name: &str) -> Result<Confined, Error> {
        let worktrees = mirror.confined_common_dir().child(WORKTREES.as_ref())?;
        worktrees.child(name.as_ref())
    }

    /// Has the mirror forget a working tree.
    pub(super) fn unregister(&self, key: &str, name: &str, cancel: &AtomicBool) -> Result<(), Error> {
        let mirror = match self.open_mirror(key) {
            Err(Error::Missing { .. }) => return Ok(()),
            other => other?,
        };
        match mirror.confined_common_dir().child(WORKTREES.as_ref()) {
            Ok(worktrees) => remove_tree(&worktrees, name.as_ref(), cancel),
            Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The names of our working trees that a mirror knows.
    pub(super) fn registered_names(&self, key: &str) -> Result<Vec<String>, Error> {
        let ours = self.trees_path(key);
        let worktrees = self.mirror_path(key).join(WORKTREES);
        let mut names = entries(&worktrees)?;
        names.retain(|name| {
            let is_ours =
                |content: Vec<u8>| as_path(content.trim_ascii_end()) == ours.join(name).join(".git");
            // A half-made one does not say yet whose it is; nobody but us makes some with such names.
            check_name("workspace", name).is_ok()
                && open_directory(&worktrees.join(name)).is_some_and(|directory| {
                    read_child_file(directory, b"gitdir", PATH_FILE_LIMIT)
                        .ok()
                        .flatten()
                        .is_none_or(is_ours)
                })
        });
        Ok(names)
    }
}

fn open_directory(path: &Path) -> Option<std::os::fd::OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

fn make_child(parent: &Confined, name: &str) -> Result<(), Error> {
    match rustix::fs::mkdirat(parent.directory(), name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(failed("made", &parent.path().join(name))(errno)),
    }
}

/// Writes a file that must not be there yet.
pub(super) fn write_new(directory: impl AsFd, name: &str, content: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o644))?;
    std::fs::File::from(file)
        .write_all(content)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
