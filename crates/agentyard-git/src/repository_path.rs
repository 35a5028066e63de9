//! Paths inside a repository.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use gix::bstr::ByteSlice as _;

use crate::{Error, display_path, text};

/// A path relative to the top of a repository, which it does not leave and whose git directory it does not
/// name. It stands for itself: `*` in it is a character like any other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryPath(PathBuf);

/// Longer than any path that the kernel takes.
const MAX_LENGTH: usize = 4096;

impl RepositoryPath {
    /// Reads a path as [`display_path`] shows it: plain, or quoted when it holds unusual bytes. `.` is the top.
    pub fn new(shown: &str) -> Result<Self, Error> {
        let bytes = text::parse_path(shown);
        let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
        match fault(&path) {
            None => Ok(Self(clean(&path))),
            Some(reason) => Err(Error::invalid(
                format!("the path {}", display_path(bytes.as_bstr())),
                reason,
            )),
        }
    }

    /// Several of them.
    pub fn list<'a>(shown: impl IntoIterator<Item = &'a String>) -> Result<Vec<Self>, Error> {
        shown.into_iter().map(|path| Self::new(path)).collect()
    }

    /// The path, relative to the top; `.` for the top itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The path for people.
    pub fn shown(&self) -> String {
        display_path(self.0.as_os_str().as_bytes().as_bstr())
    }
}

fn clean(path: &Path) -> PathBuf {
    let cleaned: PathBuf = path
        .components()
        .filter(|component| *component != Component::CurDir)
        .collect();
    if cleaned.as_os_str().is_empty() {
        return PathBuf::from(".");
    }
    cleaned
}

fn fault(path: &Path) -> Option<&'static str> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Some("it is empty; use `.` for the whole repository");
    }
    if bytes.len() > MAX_LENGTH {
        return Some("it is too long");
    }
    if bytes.contains(&0) {
        return Some("it contains a NUL character");
    }
    if path.is_absolute() {
        return Some("it is absolute; paths are relative to the repository's top");
    }
    for component in path.components() {
        match component {
            Component::ParentDir => return Some("it contains `..`"),
            Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                return Some("it is inside the git directory");
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_shown() {
        for (shown, path) in [
            ("src/lib.rs", "src/lib.rs"),
            ("./src//lib.rs", "src/lib.rs"),
            (".", "."),
            ("-rf", "-rf"),
            (":(glob)**", ":(glob)**"),
            (r#""a\tb""#, "a\tb"),
            ("with space", "with space"),
        ] {
            assert_eq!(RepositoryPath::new(shown).unwrap().as_path(), Path::new(path));
        }
    }

    #[test]
    fn paths_that_leave_the_repository_are_refused() {
        for shown in [
            "",
            "/etc/passwd",
            "..",
            "a/../../b",
            ".git/config",
            "a/.GIT/hooks/x",
            "a\0b",
            r#""a\000b""#,
        ] {
            assert!(
                matches!(RepositoryPath::new(shown), Err(Error::Invalid { .. })),
                "{shown:?}"
            );
        }
    }
}
