//! How much a commit changed.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use gix::diff::blob::{Algorithm, Diff, InternedInput};

use super::contents;
use crate::error::check_cancelled;
use crate::renames::{File, is_regular};
use crate::tree_diff::{Change, TreeDiff};
use crate::{Error, display_path};

/// How much a commit changed since its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitStat {
    pub files_changed: usize,
    /// Lines, in all files together.
    pub insertions: u64,
    pub deletions: u64,
    /// By path, at most [`MAX_STAT_FILES`].
    pub files: Vec<FileStat>,
    /// More files changed than are listed, or than were looked at.
    pub truncated: bool,
}

/// How much a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub path: String,
    /// Its path before it was renamed.
    pub from: Option<String>,
    pub change: FileChange,
    pub lines: LineChange,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    Added,
    Modified,
    Deleted,
    Renamed,
    /// It became a link, a submodule or a file.
    TypeChanged,
}

/// What happened to the lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    Counted {
        insertions: u64,
        deletions: u64,
    },
    Binary,
    /// The file has more than [`MAX_COMPARED_FILE`](crate::MAX_COMPARED_FILE) bytes, or is not here, as in a partial clone.
    NotCompared,
}

/// How many files are listed of a commit.
pub const MAX_STAT_FILES: usize = 1000;

/// Where git looks for a NUL to tell binary files from text.
const BINARY_PROBE: usize = 8000;

/// Counts the lines that differ.
pub(super) fn count(
    local: &gix::Repository,
    differences: &TreeDiff,
    cancel: &AtomicBool,
) -> Result<CommitStat, Error> {
    let mut stat = CommitStat {
        files_changed: differences.changes.len(),
        truncated: differences.truncated || differences.changes.len() > MAX_STAT_FILES,
        ..CommitStat::default()
    };
    // A few small trees can hold the same file any number of times.
    let mut known = HashMap::new();
    for change in &differences.changes {
        check_cancelled(cancel)?;
        let id = |file: &Option<File>| file.as_ref().map(|file| file.id);
        let lines = *known
            .entry((id(&change.before), id(&change.after)))
            .or_insert_with(|| line_change(local, change));
        if let LineChange::Counted {
            insertions,
            deletions,
        } = lines
        {
            stat.insertions += insertions;
            stat.deletions += deletions;
        }
        if stat.files.len() < MAX_STAT_FILES {
            stat.files.push(FileStat {
                path: display_path(change.path()),
                from: renamed_from(change),
                change: file_change(change),
                lines,
            });
        }
    }
    Ok(stat)
}

fn renamed_from(change: &Change) -> Option<String> {
    let before = change.before.as_ref()?;
    (before.path != change.path()).then(|| display_path(before.path.as_ref()))
}

fn file_change(change: &Change) -> FileChange {
    match (&change.before, &change.after) {
        (None, _) => FileChange::Added,
        (_, None) => FileChange::Deleted,
        (Some(before), Some(after)) if before.path != after.path => FileChange::Renamed,
        (Some(before), Some(after))
            if before.kind == after.kind || is_regular(before.kind) && is_regular(after.kind) =>
        {
            FileChange::Modified
        }
        _ => FileChange::TypeChanged,
    }
}

fn line_change(local: &gix::Repository, change: &Change) -> LineChange {
    let read = |file: &Option<File>| match file {
        None => Some(Vec::new()),
        Some(file) => contents::read(local, file),
    };
    // Equal content is read all the same: git says of a binary file that it is one, even if only its mode changed.
    let (Some(before), Some(after)) = (read(&change.before), read(&change.after)) else {
        return LineChange::NotCompared;
    };
    if is_binary(&before) || is_binary(&after) {
        return LineChange::Binary;
    }
    let (insertions, deletions) = differing_lines(&before, &after);
    LineChange::Counted {
        insertions,
        deletions,
    }
}

fn differing_lines(before: &[u8], after: &[u8]) -> (u64, u64) {
    if before == after {
        return (0, 0);
    }
    let input = InternedInput::new(before, after);
    let diff = Diff::compute(Algorithm::Myers, &input);
    (diff.count_additions().into(), diff.count_removals().into())
}

fn is_binary(content: &[u8]) -> bool {
    content.iter().take(BINARY_PROBE).any(|&byte| byte == 0)
}
