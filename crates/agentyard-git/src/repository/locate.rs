//! Finding the repository that contains a directory, without leaving the roots.

use std::os::fd::AsFd;
use std::path::PathBuf;

use gix::bstr::{BStr, ByteSlice as _};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::owner;
use crate::descriptor::{as_path, file_type, read_child_file};
use crate::{Confined, Error};

/// The directories that make up a repository, each inside the roots.
pub(super) struct Location {
    pub(super) git_dir: Confined,
    pub(super) common_dir: Confined,
    pub(super) worktree: Option<Confined>,
}

impl Location {
    /// Refuses a repository of which any part belongs to another user.
    pub(super) fn check_owners(&self) -> Result<(), Error> {
        self.parts().try_for_each(owner::check)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Confined> {
        [&self.git_dir, &self.common_dir]
            .into_iter()
            .chain(&self.worktree)
    }
}

/// Files with nothing but a path in them are this long at most.
pub(crate) const PATH_FILE_LIMIT: usize = 64 * 1024;

/// Walks up from `directory` to its root.
pub(super) fn locate(directory: &Confined) -> Result<Location, Error> {
    if looks_like_git_dir(directory.directory()) && dot_git(directory)?.is_none() {
        return location(directory.clone(), None);
    }
    let mut candidate = directory.clone();
    loop {
        if let Some(git_dir) = dot_git(&candidate)? {
            return location(git_dir, Some(candidate));
        }
        candidate = candidate.parent()?.ok_or_else(|| Error::NotARepository {
            path: directory.shown(),
        })?;
    }
}

/// The repository whose `.git` is in the directory itself.
pub(super) fn locate_exactly(directory: &Confined) -> Result<Option<Location>, Error> {
    dot_git(directory)?
        .map(|git_dir| location(git_dir, Some(directory.clone())))
        .transpose()
}

/// Whether a directory has what git asks of a git directory: a head, and objects and references of its own or
/// in another directory. Used by the status too, for repositories nested in the working tree.
pub(crate) fn looks_like_git_dir(directory: impl AsFd) -> bool {
    let directory = directory.as_fd();
    let kind = |name: &str| {
        rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| FileType::from_raw_mode(stat.st_mode))
            .ok()
    };
    let is_directory = |name| matches!(kind(name), Some(FileType::Directory | FileType::Symlink));
    matches!(kind("HEAD"), Some(FileType::RegularFile | FileType::Symlink))
        && (kind("commondir") == Some(FileType::RegularFile)
            || is_directory("objects") && is_directory("refs"))
}

/// The target of a `.git` file, relative to the directory that holds it.
pub(crate) fn parse_git_file(content: &[u8]) -> Option<PathBuf> {
    path_in(content.strip_prefix(b"gitdir:")?.trim_start())
}

/// Says which part of the repository was at fault when a lookup inside the roots failed.
pub(super) fn part_error(repository: &Confined, part: impl Into<String>, error: Error) -> Error {
    let (path, part) = (repository.shown(), part.into());
    match error {
        Error::OutsideRoots { .. } => Error::RepositoryEscapes { path, part },
        Error::NotFound { .. } => Error::RepositoryMalformed {
            path,
            part,
            problem: "leads to something that does not exist",
        },
        Error::NotADirectory { .. } => Error::RepositoryMalformed {
            path,
            part,
            problem: "does not lead to a directory",
        },
        other => other,
    }
}

fn location(git_dir: Confined, worktree: Option<Confined>) -> Result<Location, Error> {
    let common_dir = match read_path_file(&git_dir, "commondir")? {
        None => git_dir.clone(),
        Some(target) => {
            let common_dir = git_dir
                .roots()
                .open_directory(&git_dir.path().join(target))
                .map_err(|error| part_error(&git_dir, "commondir file", error))?;
            if !looks_like_git_dir(common_dir.directory()) {
                return Err(malformed(
                    &git_dir,
                    "commondir file",
                    "does not name a git directory",
                ));
            }
            common_dir
        }
    };
    Ok(Location {
        git_dir,
        common_dir,
        worktree,
    })
}

/// The git directory that the `.git` entry of a directory stands for.
fn dot_git(directory: &Confined) -> Result<Option<Confined>, Error> {
    let entry = match rustix::fs::statat(directory.directory(), ".git", AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => {
            return Err(Error::OpenDirectory {
                path: directory.shown(),
                source: errno.into(),
            });
        }
    };
    let path = directory.path().join(".git");
    let kind = match entry {
        FileType::Symlink => {
            let target = directory.roots().find(&path);
            let target = match target {
                // git takes a link to nothing for nothing, too.
                Err(Error::NotFound { .. }) => return Ok(None),
                other => other.map_err(|error| part_error(directory, ".git link", error))?,
            };
            file_type(&target.descriptor).map_err(|errno| Error::OpenDirectory {
                path: directory.shown(),
                source: errno.into(),
            })?
        }
        kind => kind,
    };
    match kind {
        FileType::Directory => {
            let git_dir = directory
                .roots()
                .open_directory(&path)
                .map_err(|error| part_error(directory, ".git link", error))?;
            Ok(looks_like_git_dir(git_dir.directory()).then_some(git_dir))
        }
        FileType::RegularFile if entry == FileType::Symlink => {
            Err(malformed(directory, ".git entry", "is a link to a file"))
        }
        FileType::RegularFile => git_file(directory).map(Some),
        _ => Err(malformed(
            directory,
            ".git entry",
            "is neither a file nor a directory",
        )),
    }
}

fn git_file(directory: &Confined) -> Result<Confined, Error> {
    let content = read_child_file(directory.directory(), b".git", PATH_FILE_LIMIT)
        .map_err(|source| Error::ReadFile {
            path: directory.shown(),
            source,
        })?
        .unwrap_or_default();
    let target =
        parse_git_file(&content).ok_or_else(|| malformed(directory, ".git file", "names no directory"))?;
    let git_dir = directory
        .roots()
        .open_directory(&directory.path().join(target))
        .map_err(|error| part_error(directory, ".git file", error))?;
    if !looks_like_git_dir(git_dir.directory()) {
        return Err(malformed(directory, ".git file", "does not name a git directory"));
    }
    Ok(git_dir)
}

fn read_path_file(directory: &Confined, name: &str) -> Result<Option<PathBuf>, Error> {
    let content =
        read_child_file(directory.directory(), name.as_bytes(), PATH_FILE_LIMIT).map_err(|source| {
            Error::ReadFile {
                path: directory.shown(),
                source,
            }
        })?;
    content
        .map(|content| path_in(&content).ok_or_else(|| malformed(directory, name, "names no directory")))
        .transpose()
}

fn path_in(content: &[u8]) -> Option<PathBuf> {
    let path: &BStr = content
        .trim_end_with(|character| matches!(character, '\n' | '\r'))
        .as_bstr();
    if path.is_empty() || path.contains(&0) {
        return None;
    }
    Some(as_path(path).to_owned())
}

fn malformed(directory: &Confined, part: impl Into<String>, problem: &'static str) -> Error {
    Error::RepositoryMalformed {
        path: directory.shown(),
        part: part.into(),
        problem,
    }
}
