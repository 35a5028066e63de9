//! Removing what was found, and nothing that came in its place.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::{Found, shown};
use crate::descriptor::open_child_directory;
use crate::{Confined, Error, Kept};

/// Directories without files are not looked at any deeper.
const MAX_DEPTH: usize = 64;

/// Opens the directory that a path is in, through directories alone: a link on the way is not followed.
pub(super) fn directory_of(worktree: &Confined, path: &Path) -> Result<OwnedFd, Errno> {
    let mut directory = open_child_directory(worktree.directory(), b".")?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        directory = open_child_directory(&directory, part.as_os_str().as_bytes())?;
    }
    Ok(directory)
}

impl Found {
    /// Removes the files; with `directories`, also the directories that are empty then, which are returned.
    pub(super) fn remove(
        &self,
        worktree: &Confined,
        directories: bool,
        kept: Option<&Kept>,
    ) -> Result<Vec<String>, Error> {
        for file in &self.files {
            let name = file.path.file_name().unwrap_or_default();
            let removed = directory_of(worktree, &file.path)
                .and_then(|directory| rustix::fs::unlinkat(directory, name, AtFlags::empty()));
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(stuck(&file.path, errno, kept)),
            }
        }
        if !directories {
            return Ok(Vec::new());
        }
        let mut removed = Vec::new();
        for directory in &self.empty {
            let name = directory.file_name().unwrap_or_default();
            let gone = directory_of(worktree, directory)
                .and_then(|parent| remove_empty(&parent, name.as_bytes(), MAX_DEPTH));
            if gone.is_ok() {
                removed.push(shown(directory));
            }
        }
        // The deepest first, by their length.
        let above: BTreeSet<(usize, PathBuf)> = self
            .files
            .iter()
            .flat_map(|file| file.path.ancestors().skip(1))
            .filter(|path| !path.as_os_str().is_empty())
            .map(|path| (path.components().count(), path.to_owned()))
            .collect();
        for (_, directory) in above.into_iter().rev() {
            let name = directory.file_name().unwrap_or_default();
            let gone = directory_of(worktree, &directory)
                .and_then(|parent| rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR));
            if gone.is_ok() {
                removed.push(shown(&directory));
            }
        }
        removed.sort_unstable();
        Ok(removed)
    }
}

/// Removes a directory in which there are none but such directories.
fn remove_empty(parent: &OwnedFd, name: &[u8], depth: usize) -> Result<(), Errno> {
    let directory = open_child_directory(parent, name)?;
    if depth > 0 {
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let child = entry.file_name().to_bytes();
            if !matches!(child, b"." | b"..") && entry.file_type() == FileType::Directory {
                remove_empty(&directory, child, depth - 1)?;
            }
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn stuck(path: &Path, errno: Errno, kept: Option<&Kept>) -> Error {
    let place = kept.map_or_else(String::new, |kept| {
        format!("; all files are kept in {}", kept.reference)
    });
    Error::state(
        format!(
            "{} could not be removed ({errno}), nor what follows it{place}",
            shown(path)
        ),
        "look at its permissions, and call again",
    )
}
