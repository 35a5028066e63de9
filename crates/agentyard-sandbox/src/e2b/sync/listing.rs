//! How copies look in their sandbox, as is told from there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{MAX_FILES, stays_below};

/// A file of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Listed {
    /// What it is.
    pub(in super::super) kind: ListedKind,
    /// How long it is.
    pub(in super::super) size: u64,
    /// Another one for each change.
    pub(in super::super) stamp: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ListedKind {
    File,
    Directory,
    Link,
}

/// What was told is no list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum InvalidListing {
    #[error("the list of its files breaks off")]
    BrokenOff,
    #[error("the list of its files has a path that leads elsewhere")]
    Elsewhere,
    #[error("it has more than {MAX_FILES} files, which is too many to be copied")]
    TooMany,
}

/// What `find` is to print of each file, after the number of the directory.
pub(in super::super) const FORMAT: &str = r"\0%P\0%y\0%s\0%T@\0%C@\0%m\0%l\0";

/// How many fields that are.
const FIELDS: usize = 8;

/// Reads the lists of so many directories.
pub(in super::super) fn listings(
    text: &[u8],
    count: usize,
) -> Result<Vec<BTreeMap<PathBuf, Listed>>, InvalidListing> {
    let mut lists = vec![BTreeMap::new(); count];
    let Some(text) = text.strip_suffix(b"\0") else {
        return if text.is_empty() {
            Ok(lists)
        } else {
            Err(InvalidListing::BrokenOff)
        };
    };
    let fields: Vec<&[u8]> = text.split(|byte| *byte == 0).collect();
    if !fields.len().is_multiple_of(FIELDS) {
        return Err(InvalidListing::BrokenOff);
    }
    if fields.len() / FIELDS > MAX_FILES {
        return Err(InvalidListing::TooMany);
    }
    for record in fields.chunks_exact(FIELDS) {
        let &[index, path, kind, size, modified, changed, mode, target] = record else {
            return Err(InvalidListing::BrokenOff);
        };
        let list = number(index)
            .and_then(|index| lists.get_mut(usize::try_from(index).ok()?))
            .ok_or(InvalidListing::BrokenOff)?;
        let path = Path::new(OsStr::from_bytes(path));
        if !stays_below(path) {
            return Err(InvalidListing::Elsewhere);
        }
        let size = number(size).ok_or(InvalidListing::BrokenOff)?;
        let text = |parts: &[&[u8]]| String::from_utf8_lossy(&parts.join(&b' ')).into_owned();
        let (kind, stamp) = match kind {
            b"f" => (
                ListedKind::File,
                text(&[b"f", record[3], modified, changed, mode]),
            ),
            b"d" => (ListedKind::Directory, text(&[b"d", mode])),
            b"l" => (ListedKind::Link, text(&[b"l", target])),
            // Pipes, sockets and devices stay where they are.
            _ => continue,
        };
        list.insert(path.to_owned(), Listed { kind, size, stamp });
    }
    Ok(lists)
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
