//! One page of a walk.

use jiff::Timestamp;

use super::differences::Differences;
use super::{LogQuery, MAX_COUNT, Merges};
use crate::commit::{Commit, CommitText};
use crate::history::{History, Node, Walk};
use crate::{CommitStat, Error, ObjectId};

/// Collects one page of a walk.
pub(super) struct Page<'a> {
    /// A handle that does not look for new packs: to shorten an id it would look each time.
    settled: gix::Repository,
    until: i64,
    author: Option<String>,
    grep: Option<String>,
    merges: Merges,
    differences: Differences<'a>,
    skip: usize,
    count: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(local: &gix::Repository, query: &LogQuery, differences: Differences<'a>) -> Self {
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
            merges: query.merges,
            differences,
            skip: query.skip,
            count: query.max_count.min(MAX_COUNT),
        }
    }

    /// The commits of the page, and whether there are more.
    pub(super) fn fill(mut self, mut walk: Walk<'_, '_>) -> Result<(Vec<Commit>, bool), Error> {
        let mut commits = Vec::new();
        let reads_all = self.author.is_some() || self.grep.is_some();
        let mut more = false;
        while let Some(node) = walk.next()? {
            let history = walk.history();
            let id = history.commit(node).id;
            if history.commit(node).time > self.until || !self.shows(history, node) {
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
            if !self.differences.matches(history, node)? {
                continue;
            }
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
                let parents = parents.collect();
                let stat = self.differences.stat(history, node)?;
                commits.push(self.shown(id, parents, text, stat));
            }
        }
        Ok((commits, more))
    }

    fn shows(&self, history: &History<'_>, node: Node) -> bool {
        let is_merge = history.commit(node).parents.len() > 1;
        match self.merges {
            Merges::All => true,
            Merges::Only => is_merge,
            Merges::None => !is_merge,
        }
    }

    fn shown(
        &self,
        id: gix::ObjectId,
        parents: Vec<ObjectId>,
        text: CommitText,
        stat: Option<CommitStat>,
    ) -> Commit {
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
            stat,
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
