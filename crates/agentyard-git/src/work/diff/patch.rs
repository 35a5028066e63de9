//! The text of a diff: which file each part belongs to, and how it is shown.

use super::listing::Entry;
use super::{Change, DiffQuery};
use crate::text;

/// Gives each entry its part of the text. When git was stopped, answers with the first entry that has none, or
/// not all of it.
///
/// Content cannot be taken for the beginning of a part: its lines begin with a space, a sign or a backslash.
pub(super) fn distribute(
    output: &[u8],
    truncated: bool,
    query: &DiffQuery,
    entries: &mut [Entry],
) -> Option<usize> {
    let mut next = 0;
    let mut last = None;
    for part in parts(output) {
        let header = part.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let Some(index) = (next..entries.len()).find(|&index| is_header_of(header, &entries[index])) else {
            continue;
        };
        let entry = &mut entries[index];
        let shown = if query.words {
            text::escaped(&words(part))
        } else {
            text::escaped(part)
        };
        entry.patch = Some(entry.patch.take().unwrap_or_default() + &shown);
        // A file of another sort has two parts, one that deletes it and one that adds it.
        next = index + usize::from(entry.change != Change::TypeChanged);
        last = Some(index);
    }
    let last = last.filter(|_| truncated)?;
    if entries[..last].iter().any(|entry| entry.patch.is_some()) {
        // It comes whole with the next page.
        entries[last].patch = None;
        return Some(last);
    }
    if let Some(patch) = &mut entries[last].patch {
        patch.truncate(patch.rfind('\n').map_or(0, |end| end + 1));
        patch.push_str("[the rest of this file's changes is too long to show]\n");
    }
    Some(last + 1)
}

fn parts(output: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut position = 0;
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(position);
        }
        position += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([output.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| &output[start..end])
        .collect()
}

fn is_header_of(header: &[u8], entry: &Entry) -> bool {
    if entry.change == Change::Conflicted {
        return false;
    }
    let old = entry.old_path.as_ref().unwrap_or(&entry.path);
    let mut expected = b"diff --git ".to_vec();
    push_name(b"a/", old, &mut expected);
    expected.push(b' ');
    push_name(b"b/", &entry.path, &mut expected);
    header == expected
}

/// A name as git writes it with `core.quotePath=false`.
fn push_name(prefix: &[u8], path: &[u8], into: &mut Vec<u8>) {
    let must_be_quoted = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f);
    if !path.iter().any(must_be_quoted) {
        into.extend_from_slice(prefix);
        into.extend_from_slice(path);
        return;
    }
    into.push(b'"');
    into.extend_from_slice(prefix);
    for &byte in path {
        match byte {
            b'"' | b'\\' => into.extend_from_slice(&[b'\\', byte]),
            0x07 => into.extend_from_slice(b"\\a"),
            0x08 => into.extend_from_slice(b"\\b"),
            b'\t' => into.extend_from_slice(b"\\t"),
            b'\n' => into.extend_from_slice(b"\\n"),
            0x0b => into.extend_from_slice(b"\\v"),
            0x0c => into.extend_from_slice(b"\\f"),
            b'\r' => into.extend_from_slice(b"\\r"),
            byte if must_be_quoted(&byte) => into.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            byte => into.push(byte),
        }
    }
    into.push(b'"');
}

/// Turns git's line-by-line form of a word diff into the one that people read: `[-old-]{+new+}`.
fn words(part: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(part.len());
    let mut in_hunk = false;
    for line in part.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"@@ ") {
            in_hunk = true;
        }
        let content = line.get(1..).unwrap_or_default();
        let content = content.strip_suffix(b"\n").unwrap_or(content);
        match line.first() {
            Some(b'-') if in_hunk => shown.extend([b"[-", content, b"-]"].concat()),
            Some(b'+') if in_hunk => shown.extend([b"{+", content, b"+}"].concat()),
            Some(b' ') if in_hunk => shown.extend_from_slice(content),
            Some(b'~') if in_hunk => shown.push(b'\n'),
            _ => shown.extend_from_slice(line),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_put_into_their_lines() {
        let part = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n the \n-old\n+new\n  word\n~\n";
        let expected = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\nthe [-old-]{+new+} word\n";
        assert_eq!(String::from_utf8_lossy(&words(part)), expected);
    }
}
