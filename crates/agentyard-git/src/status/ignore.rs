//! Which untracked files are ignored.

use std::sync::OnceLock;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::glob::pattern::Case;
use gix::glob::search::pattern::List;
use gix::ignore::search::{Ignore, pattern_matching_relative_path};
use gix::index::entry::Flags;

use super::directory::Directory;
use super::rules::info_file;
use crate::descriptor::as_path;
use crate::{Error, Repository};

/// The patterns of one file.
pub(crate) type Patterns = List<Ignore>;

/// The sources of ignore patterns: `.gitignore` in every directory, then `info/exclude`.
///
/// A user's own list (`core.excludesFile`) is not among them: the repository must not name files to read, and
/// home directories are none of this crate's business.
pub(crate) struct Excludes {
    info: Option<Patterns>,
    case: Case,
}

/// Files that a pattern list may come from are this long at most; git's own limit is larger still.
const FILE_LIMIT: usize = 16 << 20;

const PARSE: Ignore = Ignore {
    support_precious: false,
};

impl Excludes {
    pub(crate) fn new(repository: Option<&Repository>, case: Case) -> Self {
        Self {
            info: repository
                .and_then(|repository| info_file(repository, "exclude"))
                .and_then(|content| List::from_bytes(&content, "info/exclude".into(), None, PARSE).ok()),
            case,
        }
    }

    /// Whether an untracked entry of `directory` is ignored, itself or with the directory.
    pub(crate) fn is_excluded(
        &self,
        directory: &Directory,
        path: &BStr,
        is_directory: bool,
        sources: &Sources<'_>,
    ) -> bool {
        self.excludes_all_of(directory, sources) || self.matches(directory, path, is_directory, sources)
    }

    /// Whether the directory itself is ignored, and with it everything untracked in it: nothing in there can
    /// be taken out of that again.
    fn excludes_all_of(&self, directory: &Directory, sources: &Sources<'_>) -> bool {
        let Some(parent) = &directory.parent else {
            return false;
        };
        *directory
            .excluded
            .get_or_init(|| self.is_excluded(parent, directory.path(), true, sources))
    }

    /// What the last matching pattern says, nearest file first.
    fn matches(&self, directory: &Directory, path: &BStr, is_directory: bool, sources: &Sources<'_>) -> bool {
        let basename = path.rfind_byte(b'/').map(|slash| slash + 1);
        let mut next = Some(directory);
        while let Some(directory) = next {
            if let Some(patterns) = sources.patterns(directory)
                && let Some(found) =
                    pattern_matching_relative_path(patterns, path, basename, Some(is_directory), self.case)
            {
                return !found.pattern.is_negative();
            }
            next = directory.parent.as_deref();
        }
        self.info
            .as_ref()
            .and_then(|patterns| {
                pattern_matching_relative_path(patterns, path, basename, Some(is_directory), self.case)
            })
            .is_some_and(|found| !found.pattern.is_negative())
    }
}

/// Where a `.gitignore` is read from: the working tree, or the index where a sparse checkout left it out.
pub(crate) struct Sources<'a> {
    /// Where those are found that were left out; none where nobody needs them.
    pub(crate) left_out: Option<(&'a gix::index::State, &'a gix::Repository)>,
    /// The first failure to read one. Patterns are asked for where no error can be returned.
    pub(crate) failure: &'a OnceLock<Error>,
}

impl Sources<'_> {
    fn patterns<'directory>(&self, directory: &'directory Directory) -> Option<&'directory Patterns> {
        directory
            .patterns
            .get_or_init(|| {
                let path = directory.path_of(b".gitignore");
                let read = directory.read(b".gitignore", FILE_LIMIT);
                let content = read
                    .unwrap_or_else(|error| {
                        _ = self.failure.set(error);
                        None
                    })
                    .or_else(|| self.skipped_file(&path))?;
                List::from_bytes(&content, as_path(&path).to_owned(), Some(as_path(b"")), PARSE).ok()
            })
            .as_ref()
    }

    fn skipped_file(&self, path: &BString) -> Option<Vec<u8>> {
        let (index, objects) = self.left_out?;
        let entry = index.entry_by_path(path.as_bstr())?;
        if !entry.flags.contains(Flags::SKIP_WORKTREE) {
            return None;
        }
        Some(objects.find_blob(entry.id).ok()?.take_data())
    }
}
