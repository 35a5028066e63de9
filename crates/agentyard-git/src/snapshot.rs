//! What somebody who enters a repository wants to see first.

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;

use crate::commit::Commit;
use crate::{Error, LogQuery, ObjectId, Remote, Repository, TagQuery, TagSort};

/// The latest of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The last commits of what is checked out.
    pub recent_commits: Vec<Commit>,
    /// The last tags, newest first.
    pub recent_tags: Vec<Tag>,
    /// By name.
    pub remotes: Vec<Remote>,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub name: String,
    /// The object that was tagged, mostly a commit.
    pub target: ObjectId,
    /// When the tag was made; for one without a message, when its commit was. None where neither is known.
    pub created_at: Option<Timestamp>,
}

/// How many commits and tags are recent.
const RECENT: usize = 5;

impl Repository {
    /// The last commits and tags, and the remotes.
    pub fn snapshot(&self, cancel: &AtomicBool) -> Result<Snapshot, Error> {
        let query = LogQuery {
            max_count: RECENT,
            ..LogQuery::default()
        };
        Ok(Snapshot {
            recent_commits: self.log(&query, cancel)?.commits,
            recent_tags: self.recent_tags(cancel)?,
            remotes: self.remotes(),
        })
    }

    fn recent_tags(&self, cancel: &AtomicBool) -> Result<Vec<Tag>, Error> {
        let query = TagQuery {
            sort: TagSort::Newest,
            limit: RECENT,
            ..TagQuery::default()
        };
        let tags = self.tags(&query, cancel)?.tags.into_iter();
        let tags = tags.map(|tag| Tag {
            name: tag.name,
            target: tag.target,
            created_at: tag.created_at,
        });
        Ok(tags.collect())
    }
}
