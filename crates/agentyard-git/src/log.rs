//! The history of a repository, page by page.

mod decorations;
mod path_filter;

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;

use crate::commit::{Commit, CommitText};
use crate::history::{CommitRange, History, Simplify, Walk};
use crate::{Error, ObjectId, Repository, Revision};
use path_filter::PathFilter;

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
/// Together with a number of commits to skip this is a cursor.
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
        }
    }
}

impl Repository {
    /// Walks the history in the order of `git log`: by commit date, newest first. Before the first commit it
    /// is empty.
    pub fn log(&self, query: &LogQuery, cancel: &AtomicBool) -> Result<LogPage, Error> {
        let local = self.local();
        let range = match &query.start {
            LogStart::Revision(revision) if *revision == Revision::head() && is_unborn(&local)? => {
                return Ok(LogPage::default());
            }
            LogStart::Revision(revision) => revision.resolve(&local)?,
            LogStart::Tips(tips) => tips.range(),
        };
        let tips = LogTips::from(&range);
        let range = CommitRange {
            since: query.since.map(Timestamp::as_second),
            ..range
        };
        let mut history = History::new(&local)?;
        let mut path_filter = query
            .path
            .as_deref()
            .map(|path| PathFilter::new(&local, path))
            .transpose()?
            .flatten();
        let simplify = path_filter.as_mut().map(|filter| filter as &mut dyn Simplify);
        let walk = Walk::new(&mut history, &range, simplify, cancel)?;
        let (mut commits, more) = Page::new(&local, query).fill(walk)?;
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
            since: None,
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

/// Collects one page of a walk.
struct Page {
    /// A handle that does not look for new packs: to shorten an id it would look each time.
    settled: gix::Repository,
    until: i64,
    author: Option<String>,
    grep: Option<String>,
    skip: usize,
    count: usize,
}

impl Page {
    fn new(local: &gix::Repository, query: &LogQuery) -> Self {
        let folded = |text: &Option<String>| {
            text.as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| text.to_lowercase())
        };
        let mut settled = local.clone();
        settled.objects.refresh_never();
        Self {
            settled,
            until: query.until.map_or(i64::MAX, Timestamp::as_second),
            author: folded(&query.author),
            grep: folded(&query.grep),
            skip: query.skip,
            count: query.max_count.min(MAX_COUNT),
        }
    }

    /// The commits of the page, and whether there are more.
    fn fill(mut self, mut walk: Walk<'_, '_>) -> Result<(Vec<Commit>, bool), Error> {
        let mut commits = Vec::new();
        let reads_all = self.author.is_some() || self.grep.is_some();
        let mut more = false;
        while let Some(node) = walk.next()? {
            let history = walk.history();
            let id = history.commit(node).id;
            if history.commit(node).time > self.until {
                continue;
            }
            // Without a filter, what is passed over is not read.
            let text = if reads_all || (self.skip == 0 && commits.len() < self.count) {
                let text = CommitText::decode(id, &history.object(node)?)?;
                if !self.matches(&text) {
                    continue;
                }
                Some(text)
            } else {
                None
            };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if commits.len() == self.count {
                more = true;
                break;
            }
            if let Some(text) = text {
                let parents = &history.commit(node).parents;
                let parents = parents.iter().map(|&parent| history.commit(parent).id.into());
                commits.push(self.shown(id, parents.collect(), text));
            }
        }
        Ok((commits, more))
    }

    fn shown(&self, id: gix::ObjectId, parents: Vec<ObjectId>, text: CommitText) -> Commit {
        let (subject, body) = text.subject_and_body();
        Commit {
            id: id.into(),
            short_id: gix::prelude::ObjectIdExt::attach(id, &self.settled)
                .shorten_or_id()
                .to_string(),
            parents,
            author: text.author,
            committer: text.committer,
            subject,
            body,
            refs: Vec::new(),
        }
    }

    fn matches(&self, text: &CommitText) -> bool {
        let author_matches = self.author.as_ref().is_none_or(|author| {
            let written = format!("{} <{}>", text.author.name, text.author.email);
            written.to_lowercase().contains(author)
        });
        author_matches
            && self
                .grep
                .as_ref()
                .is_none_or(|grep| text.message.to_lowercase().contains(grep))
    }
}

fn is_unborn(local: &gix::Repository) -> Result<bool, Error> {
    Ok(local.head().map_err(Error::read("HEAD"))?.is_unborn())
}
