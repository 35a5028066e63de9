//! Which bytes of a file are replaced by which.

use std::borrow::Cow;
use std::ops::Range;

use gix::bstr::ByteSlice as _;

use super::super::content::LineEndings;
use super::{Edit, MAX_EDITS, hints};
use crate::Error;

/// Bytes of a file, and what comes in their place.
#[derive(Debug)]
pub(super) struct Replacement<'a> {
    range: Range<usize>,
    new: Cow<'a, str>,
    /// Which of the edits it is, counted from one.
    edit: usize,
}

/// How many line numbers are named where a text is found too often.
const NAMED_LINES: usize = 10;

/// Finds the texts of all edits in the content, in its order. They must not overlap.
pub(super) fn find<'a>(
    path: &str,
    content: &[u8],
    endings: LineEndings,
    edits: &'a [Edit],
) -> Result<Vec<Replacement<'a>>, Error> {
    if edits.is_empty() || edits.len() > MAX_EDITS {
        return Err(Error::invalid(
            "edits",
            format!("there must be 1 to {MAX_EDITS} of them, not {}", edits.len()),
        ));
    }
    let mut replacements = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let number = Number {
            edit: index + 1,
            of: edits.len(),
        };
        if edit.old.is_empty() {
            return Err(Error::invalid(
                format!("{number}"),
                "its `old` is empty; give a text next to which to insert, and repeat that in `new`",
            ));
        }
        let (found, new) = occurrences(content, endings, edit);
        check_count(path, content, number, edit, &found)?;
        replacements.extend(found.into_iter().map(|range| Replacement {
            range,
            new: new.clone(),
            edit: number.edit,
        }));
    }
    replacements.sort_by_key(|replacement| replacement.range.start);
    for pair in replacements.windows(2) {
        if pair[1].range.start < pair[0].range.end {
            let (one, other) = (pair[0].edit.min(pair[1].edit), pair[0].edit.max(pair[1].edit));
            return Err(Error::invalid(
                format!("edits {one} and {other} of {path}"),
                format!(
                    "they overlap at line {}: join them into one edit, or make one after the other; nothing was changed",
                    line_of(content, pair[1].range.start)
                ),
            ));
        }
    }
    Ok(replacements)
}

/// The content with everything replaced.
pub(super) fn apply(content: &[u8], replacements: &[Replacement<'_>]) -> Vec<u8> {
    let mut after = Vec::with_capacity(content.len());
    let mut end = 0;
    for replacement in replacements {
        after.extend_from_slice(&content[end..replacement.range.start]);
        after.extend_from_slice(replacement.new.as_bytes());
        end = replacement.range.end;
    }
    after.extend_from_slice(&content[end..]);
    after
}

/// Where the text of an edit is, and what replaces it, both with the line ends of the file.
fn occurrences<'a>(
    content: &[u8],
    endings: LineEndings,
    edit: &'a Edit,
) -> (Vec<Range<usize>>, Cow<'a, str>) {
    let find = |old: &str| -> Vec<Range<usize>> {
        content
            .find_iter(old)
            .map(|start| start..start + old.len())
            .collect()
    };
    match endings {
        LineEndings::Lf => (find(&edit.old), Cow::Borrowed(&*edit.new)),
        LineEndings::CrLf => (find(&with_crlf(&edit.old)), Cow::Owned(with_crlf(&edit.new))),
        LineEndings::Mixed => {
            let found = find(&edit.old);
            if found.is_empty() && edit.old.contains('\n') {
                return (find(&with_crlf(&edit.old)), Cow::Owned(with_crlf(&edit.new)));
            }
            (found, Cow::Borrowed(&*edit.new))
        }
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn check_count(
    path: &str,
    content: &[u8],
    number: Number,
    edit: &Edit,
    found: &[Range<usize>],
) -> Result<(), Error> {
    if found.is_empty() {
        return Err(Error::state(
            format!(
                "{number} of {path}: its `old` is not in the file{}; nothing was changed",
                hints::for_missing(content, edit)
            ),
            "read the file again, and give the text exactly as it stands there",
        ));
    }
    if edit.count == 0 || edit.count == found.len() {
        return Ok(());
    }
    let lines: Vec<String> = found
        .iter()
        .take(NAMED_LINES)
        .map(|range| line_of(content, range.start).to_string())
        .collect();
    let more = if found.len() > NAMED_LINES { ", …" } else { "" };
    let (times, place) = if found.len() == 1 {
        ("once".to_owned(), "line")
    } else {
        (format!("{} times", found.len()), "lines")
    };
    let wanted = if edit.count == 1 {
        "once".to_owned()
    } else {
        format!("{} times", edit.count)
    };
    Err(Error::state(
        format!(
            "{number} of {path}: its `old` is there {times} ({place} {}{more}), and was expected {wanted}; nothing was \
             changed",
            lines.join(", ")
        ),
        "give more of the text around it, or say with `count` how many to replace (0 for all)",
    ))
}

/// The line, counted from one, in which a byte is.
pub(super) fn line_of(content: &[u8], offset: usize) -> usize {
    content[..offset].find_iter("\n").count() + 1
}

/// Which of how many edits.
#[derive(Clone, Copy)]
struct Number {
    edit: usize,
    of: usize,
}

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.of == 1 {
            return formatter.write_str("the edit");
        }
        write!(formatter, "edit {} of {}", self.edit, self.of)
    }
}
