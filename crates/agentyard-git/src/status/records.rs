//! What a walk saw in each directory, and by which watches it would hear of a change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use gix::bstr::{BStr, BString, ByteSlice as _};

use super::findings::Findings;
use super::watch::{Watch, WatchId};

/// What a walk saw in one directory with tracked files, without those below.
#[derive(Default)]
pub(super) struct Record {
    /// None when there was nothing to report, as in most directories.
    pub(super) findings: Option<Box<Findings>>,
    /// On the directory itself.
    pub(super) watch: Option<WatchId>,
    /// On directories below without tracked files, as far as they were looked into, with their paths.
    pub(super) untracked_watches: Vec<(WatchId, BString)>,
    /// Something in it can change without a word: a file with a second name elsewhere, or another repository.
    pub(super) is_silent: bool,
    /// Files were read, because the index could not vouch for them. Another index may.
    pub(super) has_read: bool,
}

/// The records of a working tree by the prefix of their directories, that is, with a slash at the end and
/// empty at the top.
#[derive(Default)]
pub(super) struct Records {
    by_prefix: BTreeMap<BString, Record>,
    watched: HashMap<WatchId, Watched>,
}

/// What is watched.
pub(super) struct Watched {
    /// The prefix of the directory.
    pub(super) directory: BString,
    /// The prefix of the directory whose record it belongs to.
    pub(super) record: BString,
}

/// What has to be looked at again.
#[derive(Default)]
pub(super) struct Stale {
    /// Directories whose own entries changed.
    pub(super) directories: BTreeSet<BString>,
    /// Directories that changed with everything below.
    pub(super) trees: BTreeSet<BString>,
    /// Directories that may no longer be there, or be others now. The one above is among `directories`.
    pub(super) gone: BTreeSet<BString>,
}

impl Records {
    pub(super) fn contains(&self, prefix: &BStr) -> bool {
        self.by_prefix.contains_key(prefix)
    }

    pub(super) fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// How many watches there are, except for those of certain directories.
    pub(super) fn watch_count_without(&self, prefixes: &[BString]) -> usize {
        let records = prefixes.iter().filter_map(|prefix| self.by_prefix.get(prefix));
        self.watched.len() - records.flat_map(Record::watches).count()
    }

    pub(super) fn watched(&self, watch: WatchId) -> Option<&Watched> {
        self.watched.get(&watch)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&BString, &Record)> {
        self.by_prefix.iter()
    }

    /// Everything that was found.
    pub(super) fn findings(&self) -> Findings {
        let mut all = Findings::default();
        for findings in self
            .by_prefix
            .values()
            .filter_map(|record| record.findings.as_deref())
        {
            all.add(findings);
        }
        all
    }

    /// Forgets what is no longer true, and gives the directories to visit for it to be known again.
    pub(super) fn forget(&mut self, stale: &Stale, watch: &Watch) -> Vec<BString> {
        for prefix in &stale.gone {
            self.remove_below(Bound::Included(prefix), watch);
        }
        for prefix in &stale.trees {
            self.remove_below(Bound::Excluded(prefix), watch);
        }
        let visits: BTreeSet<&BStr> = stale
            .directories
            .iter()
            .chain(&stale.trees)
            .map(|prefix| self.nearest(prefix.as_bstr()))
            .collect();
        visits.into_iter().map(BStr::to_owned).collect()
    }

    /// Takes in what a walk saw, in place of what was known of the same directories.
    pub(super) fn replace(&mut self, gone: &[BString], seen: Vec<(BString, Record)>, watch: &Watch) {
        for prefix in gone {
            self.remove_below(Bound::Included(prefix), watch);
        }
        // A watch can pass from one directory to another, so that none is ended before all are known.
        let mut former = Vec::new();
        for (prefix, _) in &seen {
            if let Some(record) = self.by_prefix.remove(prefix) {
                former.extend(record.watches());
            }
        }
        for watch in &former {
            self.watched.remove(watch);
        }
        for (prefix, record) in seen {
            let of_untracked = record.untracked_watches.iter();
            let own = record.watch.map(|watch| (watch, prefix.clone()));
            for (watch, directory) in of_untracked.cloned().chain(own) {
                let record = prefix.clone();
                self.watched.insert(watch, Watched { directory, record });
            }
            self.by_prefix.insert(prefix, record);
        }
        for ended in former {
            if !self.watched.contains_key(&ended) {
                watch.remove(ended);
            }
        }
    }

    pub(super) fn clear(&mut self, watch: &Watch) {
        self.remove_below(Bound::Included(&BString::default()), watch);
    }

    /// The directory itself, or the first above it, that there is a record of.
    fn nearest<'prefix>(&self, mut prefix: &'prefix BStr) -> &'prefix BStr {
        while !prefix.is_empty() && !self.contains(prefix) {
            prefix = parent(prefix);
        }
        prefix
    }

    fn remove_below(&mut self, prefix: Bound<&BString>, watch: &Watch) {
        let (Bound::Included(start) | Bound::Excluded(start)) = prefix else {
            return;
        };
        let below: Vec<BString> = self
            .by_prefix
            .range::<BString, _>((prefix, Bound::Unbounded))
            .map(|(prefix, _)| prefix)
            .take_while(|prefix| prefix.starts_with(start))
            .cloned()
            .collect();
        for prefix in below {
            for ended in self.by_prefix.remove(&prefix).iter().flat_map(Record::watches) {
                self.watched.remove(&ended);
                watch.remove(ended);
            }
        }
    }
}

impl Record {
    fn watches(&self) -> impl Iterator<Item = WatchId> {
        let untracked = self.untracked_watches.iter().map(|(watch, _)| *watch);
        self.watch.into_iter().chain(untracked)
    }
}

/// The prefix of the directory above.
pub(super) fn parent(prefix: &BStr) -> &BStr {
    directory_of(prefix.strip_suffix(b"/").unwrap_or(prefix).as_bstr())
}

/// The prefix of the directory that a path is in.
pub(super) fn directory_of(path: &BStr) -> &BStr {
    path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)].as_bstr()
}
