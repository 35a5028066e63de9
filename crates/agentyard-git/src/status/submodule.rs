//! Repositories inside the working tree.

use gix::bstr::BStr;
use rustix::fs::{AtFlags, FileType};

use super::directory::Directory;
use crate::descriptor::{as_path, open_child_directory};
use crate::repository::{PATH_FILE_LIMIT, looks_like_git_dir, parse_git_file};
use crate::{Confined, Error, Repository};

/// Whether a submodule has another commit checked out than `expected`. One that is not checked out has none,
/// and neither has one that cannot be opened within the roots: what is out of reach is not reported on.
pub(super) fn has_other_commit(worktree: &Confined, path: &BStr, expected: &gix::oid) -> bool {
    checked_out_commit(worktree, path).is_some_and(|head| head != expected)
}

/// The commit that a submodule has checked out.
pub(super) fn checked_out_commit(worktree: &Confined, path: &BStr) -> Option<gix::ObjectId> {
    let directory = worktree.path().join(as_path(path));
    let directory = worktree.roots().open_directory(&directory).ok()?;
    let submodule = Repository::open_exactly(&directory).ok()??;
    submodule.local().head_id().ok().map(gix::Id::detach)
}

/// Whether a directory may be the top of another repository.
pub(super) fn has_git_entry(directory: &Directory) -> bool {
    rustix::fs::statat(directory.descriptor(), ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Whether a directory is the top of another repository.
///
/// A `.git` file or link that leads out of the roots counts as one whatever it leads to, so that the answer
/// does not tell.
pub(super) fn is_repository(directory: &Directory, worktree: &Confined) -> bool {
    let Ok(stat) = rustix::fs::statat(directory.descriptor(), ".git", AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            return open_child_directory(directory.descriptor(), b".git").is_ok_and(looks_like_git_dir);
        }
        FileType::RegularFile => directory
            .read(b".git", PATH_FILE_LIMIT)
            .ok()
            .flatten()
            .and_then(|content| parse_git_file(&content)),
        FileType::Symlink => Some(".git".into()),
        _ => None,
    };
    let Some(target) = target else {
        return false;
    };
    let base = worktree.path().join(as_path(directory.path()));
    match worktree.roots().open_directory(&base.join(target)) {
        Ok(git_dir) => looks_like_git_dir(git_dir.directory()),
        Err(Error::OutsideRoots { .. }) => true,
        Err(_) => false,
    }
}
