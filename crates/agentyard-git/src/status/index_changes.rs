//! What another index means for what is known of the working tree.

use std::cmp::Ordering;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::{Entry, State};

use super::records::{Stale, directory_of, parent};
use super::rules::is_rules_file;

/// Whether the entries are in order, which they are unless somebody wrote them by hand.
pub(super) fn is_sorted(index: &State) -> bool {
    index
        .entries()
        .is_sorted_by(|one, other| key(one, index) < key(other, index))
}

/// Marks the directories in which `new` says something else than `old`. Both are sorted.
pub(super) fn compare(old: &State, new: &State, stale: &mut Stale) {
    let (mut before, mut after) = (old.entries(), new.entries());
    loop {
        let order = match (before.first(), after.first()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => key(one, old).cmp(&key(other, new)),
        };
        let path = match order {
            Ordering::Less | Ordering::Equal => before[0].path(old),
            Ordering::Greater => after[0].path(new),
        };
        match order {
            Ordering::Equal => {
                if !is_same(&before[0], &after[0]) {
                    changed(path, stale);
                }
            }
            Ordering::Less => {
                changed(path, stale);
                untracked_now(path, new, stale);
            }
            Ordering::Greater => changed(path, stale),
        }
        before = &before[usize::from(order.is_le())..];
        after = &after[usize::from(order.is_ge())..];
    }
}

fn changed(path: &BStr, stale: &mut Stale) {
    let directory = directory_of(path);
    // Where these are not in the working tree, the index is asked for them.
    if is_rules_file(path[directory.len()..].as_bstr()) {
        stale.trees.insert(directory.to_owned());
    } else if !stale.directories.contains(directory) {
        stale.directories.insert(directory.to_owned());
    }
}

/// A directory whose last entry was removed is the matter of the one above, from now on.
fn untracked_now(path: &BStr, new: &State, stale: &mut Stale) {
    let mut directory = directory_of(path);
    while !directory.is_empty() && !has_entries(new, directory) {
        stale.gone.insert(directory.to_owned());
        directory = parent(directory);
        stale.directories.insert(directory.to_owned());
    }
}

fn has_entries(index: &State, prefix: &BStr) -> bool {
    let entries = index.entries();
    let first = entries.partition_point(|entry| entry.path(index) < prefix);
    entries
        .get(first)
        .is_some_and(|entry| entry.path(index).starts_with(prefix))
}

fn key<'index>(entry: &Entry, index: &'index State) -> (&'index BStr, u32) {
    (entry.path(index), entry.stage_raw())
}

fn is_same(one: &Entry, other: &Entry) -> bool {
    one.stat == other.stat && one.id == other.id && one.flags == other.flags && one.mode == other.mode
}
