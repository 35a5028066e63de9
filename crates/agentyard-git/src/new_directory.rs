//! Directories that are made inside the roots, for a repository or a working tree to be put there.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::repository::looks_like_git_dir;
use crate::roots::{check_form, invalid, shown};
use crate::{Confined, Error, Roots, text};

/// A directory, and which directories had to be made for it.
pub(crate) struct NewDirectory {
    pub(crate) directory: Confined,
    made: Vec<(Confined, OsString)>,
}

impl Roots {
    /// Opens a directory inside the roots, and makes it first where it does not exist, with those above it.
    ///
    /// Each is made in one that is held open, and entered without following a link: a name that is changed
    /// meanwhile leads nowhere else.
    pub(crate) fn make_directory(&self, path: &Path) -> Result<NewDirectory, Error> {
        check_new(path)?;
        let mut missing = Vec::new();
        let mut existing = path;
        let base = loop {
            match self.open_directory(existing) {
                Ok(directory) => break directory,
                Err(Error::NotFound { .. }) => {
                    let Some(Component::Normal(name)) = existing.components().next_back() else {
                        return Err(invalid(path, "it goes up from a directory that does not exist"));
                    };
                    missing.push(name);
                    existing = existing
                        .parent()
                        .ok_or_else(|| Error::NotFound { path: shown(path) })?;
                }
                Err(error) => return Err(error),
            }
        };
        refuse_git_directory(if missing.is_empty() {
            base.parent()?
        } else {
            Some(base.clone())
        })?;
        let mut new = NewDirectory {
            directory: base,
            made: Vec::new(),
        };
        for name in missing.into_iter().rev() {
            if let Err(error) = new.descend(name) {
                new.undo();
                return Err(error);
            }
        }
        Ok(new)
    }
}

impl NewDirectory {
    /// Whether the directory itself is new.
    pub(crate) fn is_new(&self) -> bool {
        !self.made.is_empty()
    }

    /// Removes what was made, as far as it is empty.
    pub(crate) fn undo(self) {
        for (parent, name) in self.made.iter().rev() {
            let _ = rustix::fs::unlinkat(parent.directory(), name.as_os_str(), AtFlags::REMOVEDIR);
        }
    }

    fn descend(&mut self, name: &std::ffi::OsStr) -> Result<(), Error> {
        let parent = self.directory.clone();
        match rustix::fs::mkdirat(parent.directory(), name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.made.push((parent.clone(), name.to_owned())),
            // Somebody else made it, or a link that leads nowhere has the name: the next line tells.
            Err(Errno::EXIST) => {}
            Err(errno) => {
                return Err(Error::OpenDirectory {
                    path: shown(&parent.path().join(name)),
                    source: errno.into(),
                });
            }
        }
        self.directory = parent.child(name)?;
        Ok(())
    }
}

/// git writes paths into files with one line each, and nothing is put into a git directory.
fn check_new(path: &Path) -> Result<(), Error> {
    check_form(path)?;
    if !path.is_absolute() {
        return Err(invalid(path, "it must be absolute"));
    }
    for component in path.components() {
        let Component::Normal(name) = component else {
            continue;
        };
        if name.eq_ignore_ascii_case(".git") {
            return Err(invalid(path, "it is inside a git directory"));
        }
        let name = String::from_utf8_lossy(name.as_bytes());
        if text::one_line(&name) != name {
            return Err(invalid(path, "it contains control characters"));
        }
    }
    Ok(())
}

/// Fails when a directory, or one above it, is a git directory.
pub(crate) fn refuse_git_directory(mut candidate: Option<Confined>) -> Result<(), Error> {
    while let Some(directory) = candidate {
        if looks_like_git_dir(directory.directory()) {
            return Err(invalid(
                directory.path(),
                "it is a git directory, into which nothing else is put",
            ));
        }
        candidate = directory.parent()?;
    }
    Ok(())
}
