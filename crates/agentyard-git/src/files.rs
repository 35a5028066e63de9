//! The files of a directory tree: listed, read, searched and changed, wherever the tree's content leads.
//!
//! What a hostile tree might try, and why it does not work here:
//!
//! - Its links lead out of it: every step of a path is taken from the directory before, by descriptor. A link is read
//!   and its target walked the same way, so it may lead anywhere inside the tree and nowhere else, and a directory
//!   that is swapped for a link meanwhile gains nothing. That goes for reading and for writing.
//! - A path or a link leads into a git directory, under whatever spelling some file system takes for `.git`, or under
//!   any name at all: git directories are neither listed, read, searched nor written, also where there is none yet.
//! - A pipe, socket or device stands where a file is expected: only regular files are opened for their content.
//! - It is endless: each listing, file, line, page and expression has a bound, and each call ends soon after its
//!   `cancel` flag is set.

mod append;
mod content;
mod edit;
mod guard;
mod hash;
mod initialize;
mod list;
mod lookup;
mod place;
mod project;
mod read;
mod search;
mod walk;
mod write;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use gix::bstr::{BStr, ByteSlice as _};
use gix::glob::pattern::Case;

use crate::new_directory::refuse_git_directory;
use crate::status::{Directory, Excludes, pattern_case};
use crate::{Confined, Error, Repository, RepositoryPath, Roots, display_path};
pub use append::MAX_APPENDED_FILE;
pub use content::LineEndings;
pub use edit::{Edit, EditOptions, Edited, MAX_EDITED_FILE, MAX_EDITS};
pub use hash::{ExpectedHash, FileHash};
pub use list::{ListQuery, ListedEntry, ListedKind, Listing, MAX_LISTED};
pub use project::{MAX_PROJECT_FILE, ProjectFile};
pub use read::{
    BytesQuery, FileBytes, FileText, MAX_HASHED_FILE, MAX_READ_BYTES, MAX_READ_LINES, ReadFile, ReadLine,
    ReadQuery,
};
pub use search::{
    FileMatches, MAX_CONTEXT, MAX_FOUND, SearchCase, SearchMode, SearchPage, SearchPlace, SearchQuery,
    SearchedLine,
};
pub use write::{MAX_WRITTEN_FILE, WriteOptions, Written};

/// The files below one directory.
pub struct FileTree {
    confined: Confined,
    top: Arc<Directory>,
}

/// A tree together with what says which of its files are ignored.
struct RuledTree {
    top: Arc<Directory>,
    excludes: Excludes,
    roots: Roots,
}

impl FileTree {
    /// The files below a directory, which must not lie in a git directory.
    pub fn open(directory: &Confined) -> Result<Self, Error> {
        let inside_git = |name| guard::is_git_name(name);
        if directory
            .path()
            .iter()
            .any(|name| inside_git(name.as_encoded_bytes().as_bstr()))
        {
            return Err(guard::refusal(&directory.shown()));
        }
        refuse_git_directory(Some(directory.clone()))?;
        let top = Directory::top(directory).map_err(|errno| Error::OpenDirectory {
            path: directory.shown(),
            source: errno.into(),
        })?;
        Ok(Self {
            confined: directory.clone(),
            top: Arc::new(top),
        })
    }

    /// Where the tree is.
    pub fn path(&self) -> &Path {
        self.confined.path()
    }

    /// The path that a caller means: relative to the top, or absolute and inside the tree.
    pub fn path_in(&self, given: &str) -> Result<RepositoryPath, Error> {
        match Path::new(given).strip_prefix(self.path()) {
            Ok(rest) if rest.as_os_str().is_empty() => RepositoryPath::new("."),
            Ok(rest) => RepositoryPath::new(&rest.to_string_lossy()),
            Err(_) => RepositoryPath::new(given),
        }
    }

    /// The tree with the rules of the repository that it belongs to, if it does: also with those that stand above it.
    fn ruled(&self) -> RuledTree {
        match Repository::open(&self.confined) {
            Ok(repository) => RuledTree {
                excludes: Excludes::new(Some(&repository), pattern_case(&repository.local())),
                top: self.below(&repository).unwrap_or_else(|| self.top.clone()),
                roots: self.confined.roots().clone(),
            },
            Err(_) => RuledTree {
                excludes: Excludes::new(None, Case::Sensitive),
                top: self.top.clone(),
                roots: self.confined.roots().clone(),
            },
        }
    }

    /// The same directory, reached from the top of the repository's working tree.
    fn below(&self, repository: &Repository) -> Option<Arc<Directory>> {
        let worktree = repository.confined_worktree()?;
        let prefix = self.path().strip_prefix(worktree.path()).ok()?;
        let reached = Directory::at(worktree, prefix.as_os_str().as_encoded_bytes().as_bstr()).ok()?;
        let (found, expected) = (
            rustix::fs::fstat(reached.descriptor()).ok()?,
            rustix::fs::fstat(self.top.descriptor()).ok()?,
        );
        ((found.st_dev, found.st_ino) == (expected.st_dev, expected.st_ino)).then(|| Arc::new(reached))
    }
}

/// The path of a directory's entry in the tree with this top, for people.
fn shown_in(top: &Directory, directory: &Directory, name: &BStr) -> String {
    let path = directory.path_of(name);
    display_path(path[top.prefix.len()..].as_bstr())
}

/// Nobody is told of rules that cannot be read: what they would hide is shown.
static UNREADABLE_RULES: OnceLock<Error> = OnceLock::new();
