//! What is in a directory.

use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::{AtFlags, FileType, Stat};

use super::lookup::{Entry, Spot, look_up};
use super::walk::{Ignored, Visited, Walk, WalkOptions};
use super::{FileTree, shown_in};
use crate::status::Directory;
use crate::{Error, RepositoryPath, display_path, text};

/// What to list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The directory, or a single file.
    pub path: RepositoryPath,
    /// How many levels of directories; one for the directory's own entries.
    pub depth: usize,
    /// Leave out what is ignored, instead of marking it.
    pub hide_ignored: bool,
    /// So many entries at most, up to [`MAX_LISTED`].
    pub limit: usize,
    /// Go on after the entry with this path, as a page before told it.
    pub after: Option<String>,
}

/// What is in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by path, a directory before what is in it.
    pub entries: Vec<ListedEntry>,
    /// There are more, after the last of these.
    pub more: bool,
    /// A directory has more entries than are looked at.
    pub crowded: bool,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// From the top of the tree.
    pub path: String,
    pub kind: ListedKind,
    /// Of files.
    pub size: Option<u64>,
    /// In seconds since 1970.
    pub modified_at: i64,
    /// Git ignores it, itself or with the directory that it is in.
    pub ignored: bool,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedKind {
    File {
        executable: bool,
    },
    Directory,
    /// Where it leads is not looked at.
    Link {
        target: String,
    },
    /// A pipe, socket or device.
    Other(&'static str),
}

pub const MAX_LISTED: usize = 5000;

impl FileTree {
    /// Lists a directory, without `.git` and what is in it.
    pub fn list(&self, query: &ListQuery, cancel: &AtomicBool) -> Result<Listing, Error> {
        let ruled = self.ruled();
        let start = match look_up(self, &ruled.top, &query.path)? {
            Spot::Directory(directory) => directory,
            Spot::Entry(entry) => {
                return Ok(Listing {
                    entries: vec![single(&ruled.top, &entry)],
                    ..Listing::default()
                });
            }
            Spot::Absent { .. } => {
                return Err(Error::NotFound {
                    path: query.path.shown(),
                });
            }
        };
        let options = WalkOptions {
            depth: query.depth.max(1),
            ignored: if query.hide_ignored {
                Ignored::LeftOut
            } else {
                Ignored::Named
            },
            after: query
                .after
                .as_deref()
                .map(|after| below(&ruled.top, &start, after))
                .transpose()?,
            again: false,
        };
        let limit = query.limit.clamp(1, MAX_LISTED);
        let mut walk = Walk::new(&ruled, start, options, cancel)?;
        let mut listing = Listing::default();
        while let Some(visited) = walk.next()? {
            if listing.entries.len() == limit {
                listing.more = true;
                break;
            }
            listing.entries.extend(listed(&ruled.top, &visited));
        }
        listing.crowded = walk.crowded;
        Ok(listing)
    }
}

/// A path of the tree, relative to a directory of it.
pub(super) fn below(top: &Directory, start: &Directory, path: &str) -> Result<BString, Error> {
    let start = &start.prefix[top.prefix.len()..];
    text::parse_path(path)
        .strip_prefix(start.as_bytes())
        .map(BString::from)
        .ok_or_else(|| {
            Error::invalid(
                "the cursor",
                "it belongs to another call; leave it out to begin anew",
            )
        })
}

fn single(top: &Directory, entry: &Entry) -> ListedEntry {
    describe(
        shown_in(top, &entry.directory, entry.name.as_bstr()),
        &entry.stat,
        None,
        false,
    )
}

/// Nothing when it has gone meanwhile.
fn listed(top: &Directory, visited: &Visited) -> Option<ListedEntry> {
    let directory = visited.directory.descriptor();
    let name = visited.name.as_bytes();
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => rustix::fs::readlinkat(directory, name, Vec::new())
            .map(|target| display_path(target.to_bytes().as_bstr()))
            .ok(),
        _ => None,
    };
    let path = shown_in(top, &visited.directory, visited.name.as_bstr());
    Some(describe(path, &stat, target, visited.ignored))
}

fn describe(path: String, stat: &Stat, target: Option<String>, ignored: bool) -> ListedEntry {
    let kind = match (FileType::from_raw_mode(stat.st_mode), target) {
        (_, Some(target)) => ListedKind::Link { target },
        (FileType::RegularFile, None) => ListedKind::File {
            executable: stat.st_mode & 0o100 != 0,
        },
        (FileType::Directory, None) => ListedKind::Directory,
        (FileType::Fifo, None) => ListedKind::Other("pipe"),
        (FileType::Socket, None) => ListedKind::Other("socket"),
        (_, None) => ListedKind::Other("device"),
    };
    let is_file = matches!(kind, ListedKind::File { .. });
    ListedEntry {
        path,
        size: is_file.then(|| u64::try_from(stat.st_size).unwrap_or_default()),
        kind,
        modified_at: stat.st_mtime,
        ignored,
    }
}
