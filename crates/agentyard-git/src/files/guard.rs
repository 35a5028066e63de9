//! Git directories, under whatever name.

use gix::bstr::BStr;
use gix::validate::path::component;

use crate::repository::looks_like_git_dir;
use crate::status::Directory;
use crate::{Error, Roots};

/// Whether a name is `.git` to some file system: in any case, with the characters that HFS+ leaves out, or in the
/// short form or with the endings that NTFS leaves out.
pub(super) fn is_git_name(name: &BStr) -> bool {
    let spellings = component::Options {
        protect_windows: false,
        protect_hfs: true,
        protect_ntfs: true,
    };
    matches!(component(name, None, spellings), Err(component::Error::DotGitDir))
}

/// Whether a directory is a git directory whatever it is called: a bare repository, or one that was moved.
pub(super) fn is_git_directory(directory: &Directory) -> bool {
    looks_like_git_dir(directory.descriptor())
}

/// Whether a directory is closed to files: a git directory, or one that the roots leave out.
pub(super) fn is_closed(roots: &Roots, directory: &Directory) -> bool {
    is_git_directory(directory) || roots.leave_out(directory.descriptor())
}

pub(super) fn refusal(path: &str) -> Error {
    Error::refused(
        format!("{path} is refused: it is, or lies in, a git directory or Agentyard's own"),
        "use the git tools: they read and change what is in a git directory",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_git_directory_is_known() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git.",
            ".git ",
            ".git. . ",
            ".git::$INDEX_ALLOCATION",
            ".git:stream",
            ".g\u{200c}it",
            ".\u{200d}GIT",
        ] {
            assert!(is_git_name(name.into()), "{name:?}");
        }
        for name in [
            ".gitignore",
            ".github",
            "git",
            "agit",
            ".git2",
            "...",
            "a:b",
            ".gitmodules",
        ] {
            assert!(!is_git_name(name.into()), "{name:?}");
        }
    }
}
