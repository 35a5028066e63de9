//! Directories that one side renamed, and files that the other put into them.
//!
//! git takes a directory for renamed when nothing is left in it and most of its files went to the same place,
//! and then asks whoever merges whether a file that the other side added there should follow.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, BString, ByteSlice as _};

/// Where the files of vanished directories went: by old directory, with a slash at the end.
#[derive(Debug, Default)]
pub(super) struct MovedDirectories(BTreeMap<BString, Destination>);

#[derive(Debug)]
enum Destination {
    /// The top is the empty path.
    One(BString),
    /// To several places, none of which got more of them than another.
    Unclear,
}

/// What becomes of a file in a directory that the other side renamed.
pub(super) enum Follows {
    /// It would be here.
    To(BString),
    Unclear,
}

impl MovedDirectories {
    pub(super) fn new(renamed: &BTreeMap<BString, BString>, vanished: &BTreeSet<BString>) -> Self {
        let mut counts: BTreeMap<&BStr, BTreeMap<&BStr, usize>> = BTreeMap::new();
        for (from, to) in renamed {
            let (mut from, mut to) = (parent(from.as_bstr()), parent(to.as_bstr()));
            // `a/b/file` that became `c/b/file` counts for `a/b/` and for `a/`.
            while vanished.contains(from) && from != to {
                *counts.entry(from).or_default().entry(to).or_default() += 1;
                if to.is_empty() || name(from) != name(to) {
                    break;
                }
                (from, to) = (parent(without_slash(from)), parent(without_slash(to)));
            }
        }
        let destination = |counts: BTreeMap<&BStr, usize>| {
            let most = counts.values().copied().max()?;
            let mut best = counts.iter().filter(|(_, count)| **count == most);
            let first = best.next()?.0;
            Some(match best.next() {
                None => Destination::One((*first).to_owned()),
                Some(_) => Destination::Unclear,
            })
        };
        let directories = counts.into_iter();
        Self(
            directories
                .filter_map(|(from, counts)| Some((from.to_owned(), destination(counts)?)))
                .collect(),
        )
    }

    /// What would become of a file that the other side added, when `others` are the directories that it moved, and
    /// `added_to` those to which it added files.
    pub(super) fn follow(&self, path: &BStr, others: &Self, added_to: &BTreeSet<&BStr>) -> Option<Follows> {
        for directory in ancestors(path) {
            // git looks where a directory went only when the other side put a file right into it, or into one
            // above it.
            let is_wanted = || {
                added_to.contains(directory)
                    || ancestors(without_slash(directory)).any(|above| added_to.contains(above))
            };
            let destination = self.0.get(directory).filter(|_| is_wanted());
            // One that both renamed is nobody's to follow.
            match destination.filter(|_| !others.0.contains_key(directory)) {
                None => {}
                Some(Destination::Unclear) => return Some(Follows::Unclear),
                // Whoever put it there renamed that directory in turn.
                Some(Destination::One(to)) if others.0.contains_key(to) => return None,
                Some(Destination::One(to)) => {
                    let mut new = to.clone();
                    new.extend_from_slice(&path[directory.len()..]);
                    return Some(Follows::To(new));
                }
            }
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The directories of a path, the innermost first, without the top.
fn ancestors(path: &BStr) -> impl Iterator<Item = &BStr> {
    let innermost = Some(parent(path));
    std::iter::successors(innermost, |directory| Some(parent(without_slash(directory))))
        .take_while(|directory| !directory.is_empty())
}

/// The directory of a path, with a slash at the end; empty for the top.
pub(super) fn parent(path: &BStr) -> &BStr {
    let end = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    path[..end].as_bstr()
}

fn without_slash(directory: &BStr) -> &BStr {
    directory.strip_suffix(b"/").unwrap_or(directory).as_bstr()
}

/// The last part of a directory's path.
fn name(directory: &BStr) -> &BStr {
    let path = without_slash(directory);
    path[parent(path).len()..].as_bstr()
}
