//! A directory that is made for a clone, and goes away with a clone that fails.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::descriptor::magic_path;
use crate::roots::shown;
use crate::{Confined, Error, Roots};

/// An empty directory inside the roots. Unless it [stays](NewDirectory::stays), it is emptied when dropped, and
/// removed again with those above it that were made for it.
pub(super) struct NewDirectory {
    directory: Confined,
    /// What was made: each directory's parent, and its name there.
    made: Vec<(Confined, OsString)>,
    stays: bool,
}

impl NewDirectory {
    pub(super) fn make(roots: &Roots, path: &Path) -> Result<Self, Error> {
        let plain = path.components().all(|part| {
            matches!(
                part,
                Component::RootDir | Component::Normal(_) | Component::CurDir
            )
        });
        if !plain || !path.is_absolute() || path.to_str().is_none() {
            return Err(Error::InvalidPath {
                path: shown(path),
                reason: "a new directory needs an absolute path without `..`",
            });
        }
        let mut missing: Vec<OsString> = Vec::new();
        let mut above = path;
        let mut directory = loop {
            match roots.resolve(above) {
                Ok(found) => break found,
                Err(Error::NotFound { .. }) => {
                    let (Some(parent), Some(name)) = (above.parent(), above.file_name()) else {
                        return Err(Error::OutsideRoots { path: shown(path) });
                    };
                    missing.push(name.to_owned());
                    above = parent;
                }
                Err(error) => return Err(error),
            }
        };
        if missing.is_empty() && !is_empty(&directory)? {
            return Err(Error::state(
                format!("{} exists and is not empty", shown(path)),
                "choose another `path`",
            ));
        }
        let mut made = Vec::new();
        for name in missing.into_iter().rev() {
            match rustix::fs::mkdirat(directory.directory(), &name, Mode::from_raw_mode(0o777)) {
                // Somebody else made it meanwhile: then it is theirs, and must be empty too.
                Ok(()) => made.push((directory.clone(), name.clone())),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(unusable(path, errno.into())),
            }
            directory = roots.resolve_from(&directory, Path::new(&name))?;
        }
        let new = Self {
            directory,
            made,
            stays: false,
        };
        if is_empty(&new.directory)? {
            return Ok(new);
        }
        Err(Error::state(
            format!("{} is not empty", shown(path)),
            "choose another `path`",
        ))
    }

    pub(super) fn confined(&self) -> &Confined {
        &self.directory
    }

    /// It is not to be removed any more.
    pub(super) fn stays(mut self) {
        self.stays = true;
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        empty(&self.directory);
        for (parent, name) in self.made.iter().rev() {
            let _ = rustix::fs::unlinkat(parent.directory(), name, AtFlags::REMOVEDIR);
        }
    }
}

fn is_empty(directory: &Confined) -> Result<bool, Error> {
    let mut entries = std::fs::read_dir(magic_path(directory.directory()))
        .map_err(|source| unusable(directory.path(), source))?;
    Ok(entries.next().is_none())
}

/// Through the descriptor, and never through a link.
fn empty(directory: &Confined) {
    let Ok(entries) = std::fs::read_dir(magic_path(directory.directory())) else {
        return;
    };
    for entry in entries.flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_directory {
            std::fs::remove_dir_all(entry.path())
        } else {
            std::fs::remove_file(entry.path())
        };
    }
}

fn unusable(path: &Path, source: io::Error) -> Error {
    Error::OpenDirectory {
        path: shown(path),
        source,
    }
}
