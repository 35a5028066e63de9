//! Repositories whose git directory lies somewhere else: linked worktrees and submodules.

use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::locate::{PATH_FILE_LIMIT, parse_git_file};
use crate::descriptor::as_path;

/// The git directory to which the `.git` file of a directory leads, when that directory says in turn that this
/// is its working tree. A file that merely claims to belong somewhere leads nowhere.
///
/// For directories that a person has named: it follows paths wherever they go.
pub fn repository_elsewhere(directory: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(directory).ok()?;
    let git_file = directory.join(".git");
    let git_dir = fs::canonicalize(directory.join(parse_git_file(&small(&git_file)?)?)).ok()?;
    let is_linked = || {
        let back = fs::canonicalize(git_dir.join(line(&small(&git_dir.join("gitdir"))?))).ok()?;
        let common = fs::canonicalize(git_dir.join(line(&small(&git_dir.join("commondir"))?))).ok()?;
        (back == git_file).then_some(common)
    };
    let is_submodule = || {
        let config = small(&git_dir.join("config"))?;
        let config = gix::config::File::try_from(config.to_str().ok()?).ok()?;
        let worktree = config.string("core.worktree")?;
        let worktree = fs::canonicalize(git_dir.join(as_path(&worktree))).ok()?;
        (worktree == directory).then(|| git_dir.clone())
    };
    is_linked().or_else(is_submodule)
}

fn small(path: &Path) -> Option<Vec<u8>> {
    let is_small =
        fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.len() <= PATH_FILE_LIMIT as u64);
    is_small.then(|| fs::read(path).ok()).flatten()
}

fn line(content: &[u8]) -> &Path {
    as_path(content.trim_end_with(|character| matches!(character, '\n' | '\r')))
}
