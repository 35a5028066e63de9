//! The history of a repository, page by page.

mod contents;
mod decorations;
mod differences;
mod follow;
mod page;
mod path_filter;
mod pickaxe;
mod stat;
mod tips;

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;

use crate::commit::Commit;
use crate::history::{CommitRange, History, Simplify, Walk};
use crate::{Error, ObjectId, Repository, Revision};
use differences::Differences;
use page::Page;
use path_filter::PathFilter;

pub use contents::MAX_COMPARED_FILE;
pub use stat::{CommitStat, FileChange, FileStat, LineChange, MAX_STAT_FILES};

/// What to show of the history.
#[derive(Clone, Debug)]
pub struct LogQuery {
    pub start: LogStart,
    /// How many commits at most; no more than [`MAX_COUNT`].
    pub max_count: usize,
    /// How many matching commits to pass over first.
    pub skip: usize,
    /// Only commits from then on. The walk ends at the first older commit on each line of history.
    pub since: Option<Timestamp>,
    /// Only commits until then.
    pub until: Option<Timestamp>,
    /// Only commits whose author, written `Name <email>`, contains this text; upper and lower case are the
    /// same.
    pub author: Option<String>,
    /// Only commits whose message contains this text; upper and lower case are the same.
    pub grep: Option<String>,
    /// Only commits that change this path, relative to the top of the tree and written as
    /// [`display_path`](crate::display_path) shows it; a directory stands for all in it.
    ///
    /// As with `git log -- path`, a merge is shown only if the path differs from all its parents. Where it is
    /// the same as in one of them, only that parent's history is followed: the other lines had no part in
    /// what the path is now.
    pub path: Option<String>,
    /// Follow the file at `path` beyond its renames, like `git log --follow`. As there, merges are not shown, and
    /// one name is followed at a time.
    pub follow: bool,
    /// Only commits that change how often this text occurs in a file, like `git log -S`. Merges are looked at only
    /// with `first_parent`. Every file that every commit changed is read, so this is slow; files of more
    /// than [`MAX_COMPARED_FILE`] bytes are passed over.
    pub pickaxe: Option<String>,
    pub merges: Merges,
    /// Follow only the first parent of merges: what happened on a branch, not what was merged into it.
    pub first_parent: bool,
    /// Start at all branches, remote-tracking branches and tags too.
    pub all_refs: bool,
    pub order: LogOrder,
    /// Count how much each commit changed.
    pub stat: bool,
}

/// The order of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogOrder {
    /// By commit date, newest first.
    #[default]
    Date,
    /// No commit before its children, and lines of history kept together. The whole history is walked first.
    Topological,
}

/// What to do with merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merges {
    /// Show them like other commits.
    #[default]
    All,
    /// Show nothing else.
    Only,
    /// Leave them out.
    None,
}

/// Where to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogStart {
    Revision(Revision),
    /// Where an earlier page started. New commits do not shift the pages that follow.
    Tips(LogTips),
}

/// A resolved start: the commits to begin with, and those to leave out with their history.
///
/// Together with a number of commits to skip this is a cursor. The references of [`LogQuery::all_refs`] are not part of
/// it: there can be too many, so they are looked up for each page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTips {
    pub include: Vec<ObjectId>,
    pub exclude: Vec<ObjectId>,
}

/// A part of the history, newest commit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    pub commits: Vec<Commit>,
    /// Whether another commit follows.
    pub more: bool,
    pub tips: LogTips,
}

/// The longest page.
pub const MAX_COUNT: usize = 1000;

impl Default for LogQuery {
    fn default() -> Self {
        Self {
            start: LogStart::Revision(Revision::head()),
            max_count: 10,
            skip: 0,
            since: None,
            until: None,
            author: None,
            grep: None,
            path: None,
            follow: false,
            pickaxe: None,
            merges: Merges::All,
            first_parent: false,
            all_refs: false,
            order: LogOrder::Date,
            stat: false,
        }
    }
}

impl Repository {
    /// Walks the history in the order of `git log`: by commit date, newest first, unless asked otherwise. Before the
    /// first commit it is empty.
    pub fn log(&self, query: &LogQuery, cancel: &AtomicBool) -> Result<LogPage, Error> {
        let local = self.local();
        let start = match &query.start {
            LogStart::Revision(revision) if *revision == Revision::head() && is_unborn(&local)? => {
                CommitRange::default()
            }
            LogStart::Revision(revision) => revision.resolve(&local)?,
            LogStart::Tips(tips) => tips.range(),
        };
        let tips = LogTips::from(&start);
        let mut range = CommitRange {
            since: query.since.map(Timestamp::as_second),
            first_parent: query.first_parent,
            topological: query.order == LogOrder::Topological,
            ..start
        };
        if query.all_refs {
            range.include.extend(tips::all(&local, cancel)?);
        }
        let mut path = query
            .path
            .as_deref()
            .map(|path| PathFilter::new(&local, path))
            .transpose()?
            .flatten();
        let differences = Differences::new(&local, query, path.as_ref(), cancel)?;
        let simplify = path.as_mut().filter(|_| !query.follow);
        let simplify = simplify.map(|filter| filter as &mut dyn Simplify);
        let mut history = History::new(&local)?;
        let walk = Walk::new(&mut history, &range, simplify, cancel)?;
        let (mut commits, more) = Page::new(&local, query, differences).fill(walk)?;
        decorations::decorate(self, &local, &mut commits);
        Ok(LogPage { commits, more, tips })
    }
}

impl LogTips {
    fn range(&self) -> CommitRange {
        let ids = |ids: &[ObjectId]| ids.iter().copied().map(Into::into).collect();
        CommitRange {
            include: ids(&self.include),
            exclude: ids(&self.exclude),
            ..CommitRange::default()
        }
    }
}

impl From<&CommitRange> for LogTips {
    fn from(range: &CommitRange) -> Self {
        let ids = |ids: &[gix::ObjectId]| ids.iter().copied().map(Into::into).collect();
        Self {
            include: ids(&range.include),
            exclude: ids(&range.exclude),
        }
    }
}

fn is_unborn(local: &gix::Repository) -> Result<bool, Error> {
    Ok(local.head().map_err(Error::read("HEAD"))?.is_unborn())
}
