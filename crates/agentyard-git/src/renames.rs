//! Files found again under another name.
//!
//! This follows git's own search step by step, because its answers are what people compare with: equal files
//! first, then files whose name (without directories) is unique on both sides, then the best pairs of all
//! that remain.

mod measures;
mod search;
mod similarity;

use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use gix::objs::tree::EntryKind;

use crate::Error;
use search::Search;

/// A file on one side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct File {
    pub(crate) path: BString,
    pub(crate) id: gix::ObjectId,
    pub(crate) kind: EntryKind,
}

/// Files that moved, and those left over. Moves are pairs of new and old path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) renamed: Vec<(BString, BString)>,
    pub(crate) copied: Vec<(BString, BString)>,
    pub(crate) deleted: Vec<BString>,
    pub(crate) added: Vec<BString>,
}

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detect {
    Nothing,
    Renames,
    Copies,
}

/// Beyond this many files on either side only equal ones are paired. git's default; a repository may lower
/// it, but not raise it, for the time needed grows with the square.
const DEFAULT_LIMIT: usize = 1000;

/// Pairs deleted files with added ones; and, where copies are looked for, `kept` files too.
pub(crate) fn find(
    local: &gix::Repository,
    deleted: Vec<File>,
    added: Vec<File>,
    kept: Vec<File>,
    (detect, limit): (Detect, usize),
    cancel: &AtomicBool,
) -> Result<Moves, Error> {
    let copies = detect == Detect::Copies;
    let kept = if copies { kept } else { Vec::new() };
    let mut search = Search::new(local, deleted, added, kept, copies, cancel);
    if detect != Detect::Nothing {
        search.pair_equal();
        if !copies {
            search.pair_by_basename()?;
        }
        search.pair_similar(limit)?;
    }
    Ok(search.finish())
}

/// A file, executable or not.
pub(crate) fn is_regular(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable)
}

/// What a status looks for: `status.renames` before `diff.renames`, as git has it.
pub(crate) fn status_settings(local: &gix::Repository) -> (Detect, usize) {
    let config = local.config_snapshot();
    let value = config
        .string("status.renames")
        .or_else(|| config.string("diff.renames"));
    let detect = match value.as_ref().map(|value| value.as_bytes()) {
        Some(b"copies" | b"copy") => Detect::Copies,
        Some(value) if is_false(value) => Detect::Nothing,
        _ => Detect::Renames,
    };
    let limit = config
        .integer("status.renameLimit")
        .or_else(|| config.integer("diff.renameLimit"));
    (detect, lowered(limit))
}

/// What a merge looks for: `merge.renames` before `diff.renames`. It never looks for copies.
pub(crate) fn merge_settings(local: &gix::Repository) -> (Detect, usize) {
    let config = local.config_snapshot();
    let value = config
        .string("merge.renames")
        .or_else(|| config.string("diff.renames"));
    let detect = match value.as_ref().map(|value| value.as_bytes()) {
        Some(value) if is_false(value) => Detect::Nothing,
        _ => Detect::Renames,
    };
    let limit = config
        .integer("merge.renameLimit")
        .or_else(|| config.integer("diff.renameLimit"));
    (detect, lowered(limit))
}

/// How far the differences of a commit are searched.
pub(crate) fn diff_limit(local: &gix::Repository) -> usize {
    lowered(local.config_snapshot().integer("diff.renameLimit"))
}

fn lowered(configured: Option<i64>) -> usize {
    let limit = configured
        .and_then(|limit| usize::try_from(limit).ok())
        .filter(|&limit| limit > 0);
    limit.map_or(DEFAULT_LIMIT, |limit| limit.min(DEFAULT_LIMIT))
}

fn is_false(value: &[u8]) -> bool {
    [&b"false"[..], b"no", b"off", b"0", b""]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}
