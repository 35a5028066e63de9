//! Where things are in the data directory.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::Trees;
use crate::roots::shown;
use crate::{Confined, Error, Repository, Roots};

/// As long as a name of a key or a view may be: names beside them are made by adding a little.
const MAX_NAME: usize = 200;

/// Names that the directory of a repository's trees has for other things.
const RESERVED: &[&str] = &[BASES, VIEWS];

const BASES: &str = "bases";
const VIEWS: &str = "views";

impl Trees {
    /// Where the mirror of a repository is, or would be.
    pub fn mirror_path(&self, key: &str) -> PathBuf {
        self.repos_path().join(format!("{key}.git"))
    }

    /// Where the working tree of a view is, or would be.
    pub fn view_path(&self, key: &str, name: &str) -> PathBuf {
        self.trees_path(key).join(name)
    }

    pub(super) fn repos_path(&self) -> PathBuf {
        self.settings.directory.join("repos")
    }

    pub(super) fn locks_path(&self) -> PathBuf {
        self.settings.directory.join("locks")
    }

    /// Where the trees of all repositories are.
    pub(super) fn all_trees_path(&self) -> PathBuf {
        self.settings.directory.join("trees")
    }

    pub(super) fn trees_path(&self, key: &str) -> PathBuf {
        self.all_trees_path().join(key)
    }

    pub(super) fn bases_path(&self, key: &str) -> PathBuf {
        self.trees_path(key).join(BASES)
    }

    pub(super) fn views_path(&self, key: &str) -> PathBuf {
        self.trees_path(key).join(VIEWS)
    }

    /// What a view has of its own beside its working tree.
    pub(super) fn layers_path(&self, key: &str, name: &str) -> PathBuf {
        self.views_path(key).join(name)
    }

    /// Opens a mirror.
    pub fn open_mirror(&self, key: &str) -> Result<Repository, Error> {
        check_name("repository", key)?;
        let path = self.mirror_path(key);
        let directory = match open_root(&path) {
            Err(Error::OpenRoot { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Missing {
                    what: format!("the repository {key} has no mirror yet; it is made when it is first used"),
                });
            }
            other => other?,
        };
        Repository::open(&directory)
    }

    /// The names on disk under which there are trees of a repository, whole or not, mounted or not.
    pub fn names(&self, key: &str) -> Result<Vec<String>, Error> {
        check_name("repository", key)?;
        let mut names = entries(&self.trees_path(key))?;
        names.extend(entries(&self.views_path(key))?);
        names.extend(self.registered_names(key)?);
        names.retain(|name| check_name("workspace", name).is_ok());
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Refuses a key or a name that could mean another directory.
pub(super) fn check_name(kind: &str, name: &str) -> Result<(), Error> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let is_usable = !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with(['.', '-'])
        && name.chars().all(is_plain)
        && !RESERVED.contains(&name);
    if is_usable {
        return Ok(());
    }
    let shown: String = crate::text::one_line(name).chars().take(MAX_NAME).collect();
    Err(Error::invalid(
        format!("the {kind} directory name {shown:?}"),
        "it may have letters, digits, `-`, `_` and `.`, and begins with a letter or a digit",
    ))
}

/// Makes a directory of ours, and those above it.
pub(super) fn make_directory(path: &Path) -> Result<(), Error> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed("made", path))
}

/// Opens a directory of ours as a root of its own.
pub(super) fn open_root(path: &Path) -> Result<Confined, Error> {
    Roots::new([path.to_owned()])?.resolve(path)
}

/// Makes a directory of ours, and opens it as a root of its own.
pub(super) fn make_root(path: &Path) -> Result<Confined, Error> {
    make_directory(path)?;
    open_root(path)
}

/// The names in a directory, without those that nothing is called by here. A directory that is not there has none.
pub(super) fn entries(path: &Path) -> Result<Vec<String>, Error> {
    let listing = match std::fs::read_dir(path) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(Error::ReadFile {
                path: shown(path),
                source,
            });
        }
    };
    Ok(listing
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}

/// For `map_err`: something of ours could not be `done` (made, removed).
pub(super) fn failed<E: Into<io::Error>>(done: &str, path: &Path) -> impl Fn(E) -> Error + use<E> {
    let (done, path) = (done.to_owned(), shown(path));
    move |error| {
        Error::state(
            format!("{path} could not be {done}: {}", error.into()),
            "look at the disk's free space and at who owns the data directory, and try again",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_lead_nowhere_else() {
        for name in ["rep_01k", "feature-foo-1a2b3c4d", "A.b_c"] {
            assert!(check_name("workspace", name).is_ok(), "{name}");
        }
        let long = "x".repeat(201);
        for name in [
            "", ".", "..", ".new-x", "a/b", "-x", "a b", "ä", "bases", "views", "a\n", &long,
        ] {
            assert!(check_name("workspace", name).is_err(), "{name}");
        }
    }
}
