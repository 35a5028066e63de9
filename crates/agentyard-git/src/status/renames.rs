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

use super::staged::File;
use crate::Error;
use search::Search;

/// Files that moved, and those left over. Moves are pairs of new and old path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    pub(super) renamed: Vec<(BString, BString)>,
    pub(super) copied: Vec<(BString, BString)>,
    pub(super) deleted: Vec<BString>,
    pub(super) added: Vec<BString>,
}

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detect {
    Nothing,
    Renames,
    Copies,
}

/// Beyond this many files on either side only equal ones are paired. git's default; a repository may lower
/// it, but not raise it, for the time needed grows with the square.
const DEFAULT_LIMIT: usize = 1000;

/// Pairs deleted files with added ones; and, where the repository asks for copies, `kept` files too.
pub(super) fn find(
    local: &gix::Repository,
    deleted: Vec<File>,
    added: Vec<File>,
    kept: Vec<File>,
    cancel: &AtomicBool,
) -> Result<Moves, Error> {
    let (detect, limit) = settings(local);
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

/// `status.renames` before `diff.renames`, as git has it.
fn settings(local: &gix::Repository) -> (Detect, usize) {
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
    let limit = limit
        .and_then(|limit| usize::try_from(limit).ok())
        .filter(|&limit| limit > 0);
    (
        detect,
        limit.map_or(DEFAULT_LIMIT, |limit| limit.min(DEFAULT_LIMIT)),
    )
}

fn is_false(value: &[u8]) -> bool {
    [&b"false"[..], b"no", b"off", b"0", b""]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}
