//! The index alone: what the next commit would have, without a look at the working tree.

use std::sync::atomic::AtomicBool;

use super::{Conflicted, DEFAULT_LIMIT, Head, Lists, Operation, Staged, head, staged, tracked};
use crate::{Error, ObjectId, Repository, display_path, index};

/// What is staged, and what stands in the way of a commit. Every list is sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staging {
    pub head: Head,
    pub operation: Option<Operation>,
    pub staged: Staged,
    pub conflicted: Vec<Conflicted>,
    /// At least one list was cut.
    pub truncated: bool,
}

impl Staged {
    /// How many files differ.
    pub fn len(&self) -> usize {
        self.added.len()
            + self.modified.len()
            + self.deleted.len()
            + self.renamed.len()
            + self.copied.len()
            + self.type_changed.len()
    }

    /// The files, both names of those that moved, sorted.
    pub fn paths(&self) -> Vec<String> {
        let moved = self.renamed.iter().flat_map(|moved| [&moved.from, &moved.to]);
        let mut paths: Vec<String> = self
            .added
            .iter()
            .chain(&self.modified)
            .chain(&self.deleted)
            .chain(moved)
            .chain(self.copied.iter().map(|moved| &moved.to))
            .chain(&self.type_changed)
            .cloned()
            .collect();
        paths.sort_unstable();
        paths
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Repository {
    /// What is checked out.
    pub fn head(&self) -> Result<Head, Error> {
        head::head(&self.local())
    }

    /// An operation that was begun and waits to be continued or aborted.
    pub fn operation(&self) -> Option<Operation> {
        head::operation(&self.local())
    }

    /// Compares the last commit with the index. The work is in proportion to what is staged.
    pub fn staging(&self, cancel: &AtomicBool) -> Result<Staging, Error> {
        let head = self.head()?;
        self.staging_since(head.commit, head, cancel)
    }

    /// Compares any commit with the index; without one, everything is new.
    pub(crate) fn staging_since(
        &self,
        commit: Option<ObjectId>,
        head: Head,
        cancel: &AtomicBool,
    ) -> Result<Staging, Error> {
        let local = self.local();
        let index = index::load(self, &local)?;
        let since = Head { branch: None, commit };
        let changes = staged::changes(self, &local, &index, &since, cancel)?;
        let mut lists = Lists {
            limit: DEFAULT_LIMIT,
            truncated: changes.truncated,
        };
        Ok(Staging {
            head,
            operation: head::operation(&local),
            staged: lists.staged(changes),
            conflicted: lists.cut(conflicts(&index)),
            truncated: lists.truncated,
        })
    }

    /// Files with unresolved conflicts.
    pub(crate) fn conflicted(&self) -> Result<Vec<Conflicted>, Error> {
        let mut conflicted = conflicts(&index::load(self, &self.local())?);
        conflicted.truncate(DEFAULT_LIMIT);
        Ok(conflicted)
    }
}

fn conflicts(index: &gix::index::State) -> Vec<Conflicted> {
    let mut conflicts = Vec::new();
    let mut rest = index.entries();
    while let Some(first) = rest.first() {
        let path = first.path(index);
        let same = if first.stage_raw() == 0 {
            1
        } else {
            rest.iter().take_while(|entry| entry.path(index) == path).count()
        };
        let (entries, after) = rest.split_at(same);
        if let Some(conflict) = tracked::conflict(entries) {
            conflicts.push(Conflicted {
                path: display_path(path),
                conflict,
            });
        }
        rest = after;
    }
    conflicts
}
