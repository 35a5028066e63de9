//! What `git diff --raw --numstat -z --patch` prints.

use super::{Change, DiffQuery, patch};
use crate::Error;
use crate::program::Finished;

/// The files that differ and, as far as it goes, how.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    /// The first entry whose text is not here for want of room.
    pub(super) reached: Option<usize>,
}

/// Lines added and deleted; none in a binary file.
type Counts = Option<(u64, u64)>;

pub(super) struct Entry {
    pub(super) path: Vec<u8>,
    pub(super) old_path: Option<Vec<u8>>,
    pub(super) change: Change,
    /// Whether its mode is the same, and its new content has no object id because nobody has hashed it.
    is_only_touched: bool,
    same_mode: bool,
    pub(super) counts: Counts,
    pub(super) patch: Option<String>,
    number: usize,
}

impl Entry {
    /// Whether the file was touched, or differs in white space that is not looked at, and is the same.
    pub(super) fn is_unchanged(&self, query: &DiffQuery, reached: Option<usize>) -> bool {
        if self.change != Change::Modified || !self.same_mode {
            return false;
        }
        match self.counts {
            Some(counts) => counts == (0, 0) && (self.is_only_touched || query.ignore_whitespace),
            None => {
                let text_was_read = reached.is_none_or(|reached| self.number < reached);
                self.is_only_touched && self.patch.is_none() && text_was_read
            }
        }
    }
}

impl Listing {
    /// Reads what git printed; none when it was stopped before it came to the text.
    pub(super) fn parse(finished: &Finished, query: &DiffQuery) -> Result<Option<Self>, Error> {
        let mut fields = Fields(&finished.output);
        let mut listing = match entries(&mut fields) {
            Some(entries) => Self {
                entries,
                reached: None,
            },
            None if finished.truncated => return Ok(None),
            None => return Err(unreadable()),
        };
        let text = fields.0.strip_prefix(b"\0").unwrap_or_default();
        listing.reached = patch::distribute(text, finished.truncated, query, &mut listing.entries);
        if finished.truncated && listing.reached.is_none() {
            return Ok(None);
        }
        Ok(Some(listing))
    }

    /// Puts what was read from `first` on in its place.
    pub(super) fn replace_from(&mut self, first: usize, mut rest: Self) {
        for entry in &mut rest.entries {
            entry.number += first;
        }
        self.entries.truncate(first);
        self.entries.append(&mut rest.entries);
        self.reached = rest.reached.map(|reached| reached + first);
    }
}

fn unreadable() -> Error {
    Error::Missing {
        what: "git diff printed something else than its documentation says; please report its version"
            .to_owned(),
    }
}

fn entries(fields: &mut Fields<'_>) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while fields.0.first() == Some(&b':') {
        entries.push(raw(fields, entries.len())?);
    }
    // A file that turns out to be the same has no numbers.
    let mut next = 0;
    while fields.0.first().is_some_and(|&byte| byte != 0) {
        let (path, counts) = numbers(fields)?;
        next += entries[next..].iter().position(|entry| entry.path == path)?;
        entries[next].counts = counts;
        next += 1;
    }
    Some(entries)
}

/// `:old-mode new-mode old-id new-id X85 NUL path NUL [path NUL]`.
fn raw(fields: &mut Fields<'_>, number: usize) -> Option<Entry> {
    let header = std::str::from_utf8(fields.next()?).ok()?;
    let mut words = header.strip_prefix(':')?.split(' ');
    let (old_mode, new_mode) = (words.next()?, words.next()?);
    let (_, new_id) = (words.next()?, words.next()?);
    let change = match words.next()?.chars().next()? {
        'A' => Change::Added,
        'D' => Change::Deleted,
        'R' => Change::Renamed,
        'C' => Change::Copied,
        'T' => Change::TypeChanged,
        'U' => Change::Conflicted,
        _ => Change::Modified,
    };
    let mut path = fields.next()?.to_vec();
    let mut old_path = None;
    if matches!(change, Change::Renamed | Change::Copied) {
        old_path = Some(std::mem::replace(&mut path, fields.next()?.to_vec()));
    }
    Some(Entry {
        path,
        old_path,
        change,
        is_only_touched: new_id.bytes().all(|digit| digit == b'0'),
        same_mode: old_mode == new_mode,
        counts: Some((0, 0)),
        patch: None,
        number,
    })
}

/// `added TAB deleted TAB path NUL`, or with two paths `added TAB deleted TAB NUL old NUL new NUL`.
fn numbers<'a>(fields: &mut Fields<'a>) -> Option<(&'a [u8], Counts)> {
    let mut words = fields.next()?.splitn(3, |&byte| byte == b'\t');
    let mut number = || Some(std::str::from_utf8(words.next()?).ok()?.parse().ok());
    let (added, deleted) = (number()?, number()?);
    let mut path = words.next()?;
    if path.is_empty() {
        fields.next()?;
        path = fields.next()?;
    }
    Some((path, added.zip(deleted)))
}

/// Fields that each end in NUL.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let field = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(field)
    }
}
