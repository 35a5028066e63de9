//! What a walk over the working tree finds.

use gix::bstr::BString;

use super::Conflict;
use super::records::Record;

/// What came of a walk.
#[derive(Default)]
pub(super) struct Found {
    /// All that was found, or nothing where there are records.
    pub(super) findings: Findings,
    /// By the prefix of the directory.
    pub(super) records: Vec<(BString, Record)>,
    /// Directories that turned out not to be there.
    pub(super) gone: Vec<BString>,
}

/// What a walk found, in no order.
#[derive(Clone, Default)]
pub(super) struct Findings {
    pub(super) modified: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) added: Vec<BString>,
    pub(super) type_changed: Vec<BString>,
    pub(super) conflicted: Vec<(BString, Conflict)>,
    pub(super) untracked: Vec<BString>,
    pub(super) ignored: Vec<BString>,
    pub(super) truncated: bool,
}

impl Findings {
    /// Adds what was found elsewhere.
    pub(super) fn add(&mut self, other: &Self) {
        self.modified.extend_from_slice(&other.modified);
        self.deleted.extend_from_slice(&other.deleted);
        self.added.extend_from_slice(&other.added);
        self.type_changed.extend_from_slice(&other.type_changed);
        self.conflicted.extend_from_slice(&other.conflicted);
        self.untracked.extend_from_slice(&other.untracked);
        self.ignored.extend_from_slice(&other.ignored);
        self.truncated |= other.truncated;
    }

    /// Together with what another thread found.
    fn and(mut self, other: Self) -> Self {
        self.modified.extend(other.modified);
        self.deleted.extend(other.deleted);
        self.added.extend(other.added);
        self.type_changed.extend(other.type_changed);
        self.conflicted.extend(other.conflicted);
        self.untracked.extend(other.untracked);
        self.ignored.extend(other.ignored);
        self.truncated |= other.truncated;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self {
            modified,
            deleted,
            added,
            type_changed,
            conflicted,
            untracked,
            ignored,
            truncated,
        } = self;
        let paths = [modified, deleted, added, type_changed, untracked, ignored];
        paths.iter().all(|list| list.is_empty()) && conflicted.is_empty() && !truncated
    }
}

impl Found {
    /// Together with what came of another thread's part.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.records.extend(other.records);
        self.gone.extend(other.gone);
        Self {
            findings: self.findings.and(other.findings),
            ..self
        }
    }
}
