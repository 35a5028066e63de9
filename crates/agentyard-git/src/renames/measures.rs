//! Similarities between files, each file read once.

use std::collections::HashMap;

use super::similarity::{Fingerprint, may_be_similar};

/// Files measured so far, by content.
pub(super) struct Measures<'a> {
    local: &'a gix::Repository,
    sizes: HashMap<gix::ObjectId, Option<u64>>,
    fingerprints: HashMap<gix::ObjectId, Option<Fingerprint>>,
    bytes_left: u64,
}

/// Larger files are found again only when they are equal.
const MAX_FILE: u64 = 16 << 20;

/// How much is read for one answer before the rest is given up.
const MAX_TOTAL: u64 = 1 << 30;

impl<'a> Measures<'a> {
    pub(super) fn new(local: &'a gix::Repository) -> Self {
        Self {
            local,
            sizes: HashMap::new(),
            fingerprints: HashMap::new(),
            bytes_left: MAX_TOTAL,
        }
    }

    /// How similar two files are. What cannot be read, as in a partial clone, is similar to nothing.
    pub(super) fn score(&mut self, one: gix::ObjectId, other: gix::ObjectId) -> u64 {
        let (Some(size), Some(other_size)) = (self.size(one), self.size(other)) else {
            return 0;
        };
        if !may_be_similar(size, other_size) {
            return 0;
        }
        self.read(one, size);
        self.read(other, other_size);
        let fingerprint = |id| self.fingerprints.get(&id).and_then(Option::as_ref);
        match (fingerprint(one), fingerprint(other)) {
            (Some(one), Some(other)) => one.score(other),
            _ => 0,
        }
    }

    fn size(&mut self, id: gix::ObjectId) -> Option<u64> {
        *self.sizes.entry(id).or_insert_with(|| {
            let header = self.local.find_header(id).ok()?;
            (header.size() <= MAX_FILE).then_some(header.size())
        })
    }

    fn read(&mut self, id: gix::ObjectId, size: u64) {
        self.fingerprints.entry(id).or_insert_with(|| {
            self.bytes_left = self.bytes_left.checked_sub(size)?;
            let blob = self.local.find_blob(id).ok()?;
            Some(Fingerprint::new(&blob.data))
        });
    }
}
