//! The branches of a repository.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;

use gix::refs::{FullName, Target};
use jiff::Timestamp;

use crate::commit::CommitText;
use crate::error::check_cancelled;
use crate::history::{Containing, History, distance, merged_into};
use crate::upstream::tracking_branch;
use crate::worktrees::{Place, checked_out_elsewhere};
use crate::{Error, ObjectId, Repository, Revision, Upstream, display_path};

/// Which branches to list.
#[derive(Clone, Debug)]
pub struct BranchQuery {
    /// Branches of this repository (`refs/heads`).
    pub local: bool,
    /// Remote-tracking branches (`refs/remotes`).
    pub remote: bool,
    /// Only branches whose commit is in the history of this one.
    pub merged: Option<Revision>,
    /// Only branches whose commit is not in the history of this one.
    pub no_merged: Option<Revision>,
    /// Only branches with this commit in their history.
    pub contains: Option<Revision>,
    /// Only branches whose name contains this text.
    pub pattern: Option<String>,
    pub sort: BranchSort,
    /// Count how far each branch is from its upstream.
    pub distances: bool,
    /// How many branches to pass over first.
    pub skip: usize,
    /// How many branches at most; no more than [`MAX_BRANCHES`].
    pub limit: usize,
}

/// The order of branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchSort {
    /// By name, those of this repository first.
    #[default]
    Name,
    /// By the date of their last commit, newest first.
    Newest,
}

/// A part of the branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchPage {
    /// Branches whose commit cannot be read are left out.
    pub branches: Vec<Branch>,
    /// How many branches there are on all pages.
    pub total: usize,
    /// Whether another branch follows.
    pub more: bool,
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Short: `main`, `origin/main`.
    pub name: String,
    /// It is a remote-tracking branch.
    pub remote: bool,
    /// It is what is checked out here.
    pub current: bool,
    pub commit: ObjectId,
    pub subject: String,
    pub committed_at: Timestamp,
    /// The branch that it follows. The distance is there when it was asked for and the upstream exists.
    pub upstream: Option<Upstream>,
    /// It is configured to follow a branch that does not exist, or not any more.
    pub upstream_gone: bool,
    /// The branch that it is another name for, as `origin/HEAD` is for `origin/main`.
    pub alias_of: Option<String>,
    /// Another working tree that has it checked out.
    pub worktree: Option<Place>,
}

/// The longest page.
pub const MAX_BRANCHES: usize = 1000;

impl Default for BranchQuery {
    fn default() -> Self {
        Self {
            local: true,
            remote: false,
            merged: None,
            no_merged: None,
            contains: None,
            pattern: None,
            sort: BranchSort::Name,
            distances: false,
            skip: 0,
            limit: 100,
        }
    }
}

impl Repository {
    /// Lists branches, like `git branch`. A branch without a commit is no branch yet.
    pub fn branches(&self, query: &BranchQuery, cancel: &AtomicBool) -> Result<BranchPage, Error> {
        let local = self.local();
        let mut history = History::new(&local)?;
        let mut tips = tips(&local, query, cancel)?;
        filter(&local, &mut history, &mut tips, query, cancel)?;
        if query.sort == BranchSort::Newest {
            tips.retain(|tip| history.load(tip.id).is_ok());
            let mut time = |tip: &Tip| history.load(tip.id).map_or(0, |node| history.commit(node).time);
            tips.sort_by_cached_key(|tip| (std::cmp::Reverse(time(tip)), tip.name.clone()));
        } else {
            tips.sort_by(|one, other| one.name.cmp(&other.name));
        }

        let total = tips.len();
        let limit = query.limit.min(MAX_BRANCHES);
        let end = query.skip.saturating_add(limit);
        let current = local.head_name().ok().flatten();
        let elsewhere: HashMap<FullName, Place> = checked_out_elsewhere(self, cancel)?.into_iter().collect();
        let mut page = Page {
            local: &local,
            // Another one than for the filters, which may have read the whole history: to count distances takes
            // time in proportion to what was read before.
            history: History::new(&local)?,
            distances: query.distances,
            cancel,
        };
        let mut branches = Vec::new();
        for tip in tips.into_iter().skip(query.skip).take(limit) {
            check_cancelled(cancel)?;
            let is_current = current.as_ref() == Some(&tip.name);
            let worktree = elsewhere.get(&tip.name).cloned();
            if let Some(branch) = page.branch(tip)? {
                branches.push(Branch {
                    current: is_current,
                    worktree,
                    ..branch
                });
            }
        }
        Ok(BranchPage {
            branches,
            total,
            more: end < total,
        })
    }
}

/// A branch as it is stored.
struct Tip {
    name: FullName,
    id: gix::ObjectId,
    alias_of: Option<String>,
}

/// The branches that are asked for by kind and name. One that is broken does not hide the others.
fn tips(local: &gix::Repository, query: &BranchQuery, cancel: &AtomicBool) -> Result<Vec<Tip>, Error> {
    let references = local.references().map_err(Error::read("the references"))?;
    let mut tips = Vec::new();
    for (wanted, prefix) in [(query.local, "refs/heads/"), (query.remote, "refs/remotes/")] {
        if !wanted {
            continue;
        }
        let found = references.prefixed(prefix).map_err(Error::read("the branches"))?;
        for mut reference in found.flatten() {
            check_cancelled(cancel)?;
            let name = reference.name().to_owned();
            let short = display_path(name.shorten());
            if query
                .pattern
                .as_ref()
                .is_some_and(|pattern| !short.contains(pattern))
            {
                continue;
            }
            let (id, alias_of) = match reference.target() {
                gix::refs::TargetRef::Object(id) => (id.to_owned(), None),
                gix::refs::TargetRef::Symbolic(target) => {
                    let alias_of = display_path(target.shorten());
                    match reference.peel_to_id() {
                        Ok(id) => (id.detach(), Some(alias_of)),
                        Err(_) => continue,
                    }
                }
            };
            tips.push(Tip { name, id, alias_of });
        }
    }
    Ok(tips)
}

/// Leaves the branches that are asked for by what is in them.
fn filter(
    local: &gix::Repository,
    history: &mut History<'_>,
    tips: &mut Vec<Tip>,
    query: &BranchQuery,
    cancel: &AtomicBool,
) -> Result<(), Error> {
    if query.merged.is_none() && query.no_merged.is_none() && query.contains.is_none() {
        return Ok(());
    }
    tips.retain(|tip| history.load(tip.id).is_ok());
    for (revision, keep_merged) in [(&query.merged, true), (&query.no_merged, false)] {
        let Some(revision) = revision else {
            continue;
        };
        let base = revision.resolve_commit(local)?;
        let ids: HashSet<gix::ObjectId> = tips.iter().map(|tip| tip.id).collect();
        let merged = merged_into(history, base, &ids, cancel)?;
        tips.retain(|tip| merged.contains(&tip.id) == keep_merged);
    }
    if let Some(revision) = &query.contains {
        let mut containing = Containing::new(history, revision.resolve_commit(local)?)?;
        let mut kept = Vec::new();
        for tip in tips.drain(..) {
            if containing.is_in(history, tip.id, cancel)? {
                kept.push(tip);
            }
        }
        *tips = kept;
    }
    Ok(())
}

/// Fills in what is shown of a branch.
struct Page<'a> {
    local: &'a gix::Repository,
    history: History<'a>,
    distances: bool,
    cancel: &'a AtomicBool,
}

impl Page<'_> {
    /// None when the commit cannot be read.
    fn branch(&mut self, tip: Tip) -> Result<Option<Branch>, Error> {
        let object = self
            .history
            .load(tip.id)
            .and_then(|node| self.history.object(node));
        let Ok(text) = object.and_then(|object| CommitText::decode(tip.id, &object)) else {
            return Ok(None);
        };
        let remote = !tip.name.as_bstr().starts_with(b"refs/heads/");
        let (upstream, upstream_gone) = if remote {
            (None, false)
        } else {
            self.upstream(&tip)?
        };
        Ok(Some(Branch {
            name: display_path(tip.name.shorten()),
            remote,
            current: false,
            commit: tip.id.into(),
            subject: text.subject_and_body().0,
            committed_at: text.committer.at,
            upstream,
            upstream_gone,
            alias_of: tip.alias_of,
            worktree: None,
        }))
    }

    /// The branch that another one follows, and whether it is gone.
    fn upstream(&mut self, tip: &Tip) -> Result<(Option<Upstream>, bool), Error> {
        let Some(name) = tracking_branch(self.local, tip.name.as_ref()) else {
            return Ok((None, false));
        };
        let theirs = match self.local.try_find_reference(&name) {
            Ok(Some(mut reference)) => match reference.inner.target {
                Target::Object(id) => Some(id),
                Target::Symbolic(_) => reference.peel_to_id().ok().map(gix::Id::detach),
            },
            _ => None,
        };
        let distance = match theirs {
            Some(theirs) if self.distances && self.history.load(theirs).is_ok() => {
                Some(distance(&mut self.history, tip.id, theirs, self.cancel)?)
            }
            _ => None,
        };
        let upstream = Upstream {
            name: display_path(name.shorten()),
            distance,
        };
        Ok((Some(upstream), theirs.is_none()))
    }
}
