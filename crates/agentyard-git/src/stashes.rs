//! What was put aside.

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;

use crate::reflog::{ReflogEntry, ReflogQuery};
use crate::{Error, ObjectId, Repository};

/// The stashes, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StashList {
    pub stashes: Vec<Stash>,
    /// Whether there are more.
    pub more: bool,
}

/// Changes that were put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stash {
    /// `stash@{0}`.
    pub selector: String,
    pub index: usize,
    pub id: ObjectId,
    /// The branch that they were made on; none when the head was detached, or the message does not tell.
    pub branch: Option<String>,
    /// What the author wrote, or else the commit that they were made on.
    pub description: String,
    pub at: Timestamp,
}

impl Repository {
    /// The stashes, like `git stash list`. At most `limit`, and no more than
    /// [`MAX_ENTRIES`](crate::MAX_ENTRIES).
    pub fn stashes(&self, limit: usize, cancel: &AtomicBool) -> Result<StashList, Error> {
        let query = ReflogQuery {
            reference: "refs/stash".to_owned(),
            skip: 0,
            limit,
        };
        let page = match self.reflog(&query, cancel) {
            Err(Error::UnknownRevision { .. }) => return Ok(StashList::default()),
            page => page?,
        };
        let stashes = page.entries.into_iter().enumerate();
        Ok(StashList {
            stashes: stashes.map(|(index, entry)| Stash::new(index, entry)).collect(),
            more: page.more,
        })
    }
}

impl Stash {
    /// git writes `WIP on main: 1234567 subject`, or `On main: message`.
    fn new(index: usize, entry: ReflogEntry) -> Self {
        let place = entry
            .action
            .strip_prefix("WIP on ")
            .or_else(|| entry.action.strip_prefix("On "));
        let description = match place {
            Some(_) => entry.message,
            None if entry.message.is_empty() => entry.action.clone(),
            None => format!("{}: {}", entry.action, entry.message),
        };
        Self {
            selector: entry.selector,
            index,
            id: entry.id,
            branch: place.filter(|&place| place != "(no branch)").map(str::to_owned),
            description,
            at: entry.who.at,
        }
    }
}
