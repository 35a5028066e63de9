//! Texts in a file are replaced: all of them, or none.

mod difference;
mod hints;
mod replacements;

use std::io::Read as _;
use std::sync::atomic::AtomicBool;

use super::FileTree;
use super::content::{is_binary, line_endings};
use super::hash::{ExpectedHash, FileHash};
use super::place::failed;
use super::write::check_expected;
use crate::error::check_cancelled;
use crate::{Error, RepositoryPath};
use difference::Difference;

/// A text to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text as it stands in the file.
    ///
    /// Its line ends are taken as the file has them: in a file with CRLF throughout, LF here and in `new` stands for
    /// CRLF; in a file with both, what is not found as it is given is looked for with CRLF.
    pub old: String,
    pub new: String,
    /// How often it must be there; each is replaced. Zero stands for as often as it is, but at least once.
    pub count: usize,
}

/// How a file is edited.
#[derive(Clone, Debug, Default)]
pub struct EditOptions {
    /// Only when the file has this content.
    pub expected: Option<ExpectedHash>,
    /// Say what would change, and change nothing.
    pub dry_run: bool,
}

/// What was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Where the file is in the tree, free of links.
    pub path: String,
    /// How many texts were replaced.
    pub replaced: usize,
    pub size: u64,
    /// The hash of what the file holds now, or would.
    pub hash: FileHash,
    pub lines_added: u32,
    pub lines_removed: u32,
    /// The change as a unified diff, with line ends as LF and control characters made visible.
    pub diff: String,
    /// The diff is longer, and was cut.
    pub diff_cut: bool,
}

pub const MAX_EDITS: usize = 200;

/// Longer files are not edited: they are held in memory.
pub const MAX_EDITED_FILE: u64 = 32 << 20;

impl FileTree {
    /// Replaces texts of a file. Each is looked for in the file as it is, not as another edit leaves it.
    pub fn edit(
        &self,
        path: &RepositoryPath,
        edits: &[Edit],
        options: &EditOptions,
        cancel: &AtomicBool,
    ) -> Result<Edited, Error> {
        let (entry, file) = self.file(path)?;
        let shown = self.shown_entry(&entry);
        let mut content = Vec::new();
        file.take(MAX_EDITED_FILE + 1)
            .read_to_end(&mut content)
            .map_err(|error| failed("read", &shown, error))?;
        if content.len() as u64 > MAX_EDITED_FILE {
            return Err(Error::invalid(
                shown,
                format!("it is longer than {MAX_EDITED_FILE} bytes, the most that is edited"),
            ));
        }
        if let Some(expected) = &options.expected {
            check_expected(&shown, expected, Some(FileHash::of(&content)))?;
        }
        if is_binary(&content) {
            return Err(Error::invalid(
                shown,
                "it is binary; `write_file` replaces it whole",
            ));
        }
        check_cancelled(cancel)?;
        let endings = line_endings(&content);
        let replacements = replacements::find(&shown, &content, endings, edits)?;
        let after = replacements::apply(&content, &replacements);
        if after == content {
            return Err(Error::invalid("the edits", "they leave the file as it is"));
        }
        check_cancelled(cancel)?;
        let difference = Difference::between(&content, &after);
        if !options.dry_run {
            self.replace(&entry, &after, entry.stat.st_mode & 0o777)?;
        }
        Ok(Edited {
            path: shown,
            replaced: replacements.len(),
            size: after.len() as u64,
            hash: FileHash::of(&after),
            lines_added: difference.added,
            lines_removed: difference.removed,
            diff: difference.text,
            diff_cut: difference.cut,
        })
    }
}
