//! Bringing a branch up to date with what it follows, for pulls and for pushes that came too late.

use crate::program::LeftOut;
use crate::work::{ChangedFiles, Kept};
use crate::{Conflicts, Error, ObjectId, Revision, Work};

use super::merge::{FastForward, MergeOptions, MergeResult};
use super::rebase::{RebaseOptions, RebaseResult};

/// How a branch is brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integration {
    /// Its own commits are put on top.
    Rebase,
    /// A merge commit joins both.
    Merge,
    /// Only where it has no commits of its own.
    FastForwardOnly,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrated {
    pub result: IntegrationResult,
    /// What was checked out before; nothing before the first commit.
    pub previous: Option<ObjectId>,
    /// What is checked out now.
    pub head: Option<ObjectId>,
    /// Files that changed in what is checked out.
    pub changed: ChangedFiles,
    /// Where commits are kept that a rebase replaced.
    pub kept: Option<Kept>,
    pub left_out: LeftOut,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntegrationResult {
    /// There was nothing to bring in.
    UpToDate,
    FastForward,
    Merged,
    /// So many of the branch's own commits are on top now.
    Rebased {
        commits: usize,
    },
    /// It stopped, and waits for these to be resolved. Never said by [`Work::integrate_or_restore`].
    Stopped(Conflicts),
    /// Nothing was done, because these files would conflict. Said by [`Work::integrate_or_restore`] alone.
    WouldConflict(Vec<String>),
}

impl Work<'_> {
    /// Brings what is checked out up to date with `upstream`. On a conflict the merge or rebase is left in
    /// progress.
    pub fn integrate_upstream(&self, upstream: &ObjectId, how: Integration) -> Result<Integrated, Error> {
        let previous = self.head()?;
        let theirs = Revision::new(upstream.to_string())?;
        let behind = match &previous {
            Some(ours) => !self.is_ancestor(upstream, ours)?,
            None => true,
        };
        let can_fast_forward = match &previous {
            Some(ours) => self.is_ancestor(ours, upstream)?,
            None => true,
        };
        if !behind {
            return self.integrated(IntegrationResult::UpToDate, previous, None, LeftOut::default());
        }
        if how == Integration::Rebase && !can_fast_forward {
            let rebased = self.rebase(&RebaseOptions {
                upstream: Some(theirs),
                ..RebaseOptions::default()
            })?;
            let result = match rebased.result {
                RebaseResult::UpToDate | RebaseResult::Aborted => IntegrationResult::UpToDate,
                RebaseResult::Done { commits } => IntegrationResult::Rebased { commits },
                RebaseResult::Stopped(stop) => IntegrationResult::Stopped(stop.conflicts),
            };
            return self.integrated(result, previous, rebased.kept, rebased.left_out);
        }
        let merged = self.merge(&MergeOptions {
            heads: vec![self.upstream_name(upstream).unwrap_or(theirs)],
            fast_forward: match how {
                Integration::Merge => FastForward::Allowed,
                Integration::Rebase | Integration::FastForwardOnly => FastForward::Only,
            },
            ..MergeOptions::default()
        })?;
        let result = match merged.result {
            MergeResult::FastForward => IntegrationResult::FastForward,
            MergeResult::Committed => IntegrationResult::Merged,
            MergeResult::Stopped(conflicts) | MergeResult::SquashStopped(conflicts) => {
                IntegrationResult::Stopped(conflicts)
            }
            MergeResult::UpToDate | MergeResult::Squashed | MergeResult::Aborted => {
                IntegrationResult::UpToDate
            }
        };
        self.integrated(result, previous, None, merged.left_out)
    }

    /// As [`Work::integrate_upstream`], all or nothing: where it would conflict, HEAD, the branch, the index and
    /// every file are as before, and the files are named.
    pub fn integrate_or_restore(&self, upstream: &ObjectId, how: Integration) -> Result<Integrated, Error> {
        let previous = self.head()?;
        if let Some(ours) = &previous {
            // Tried in the object database first, where a conflict touches nothing.
            let conflicted = match how {
                Integration::FastForwardOnly => Vec::new(),
                Integration::Merge => {
                    self.try_merge(None, ours, upstream, &MergeOptions::default())?
                        .conflicted
                }
                Integration::Rebase => self.conflicts_of_rebasing(ours, upstream)?,
            };
            if !conflicted.is_empty() {
                let result = IntegrationResult::WouldConflict(conflicted);
                return self.integrated(result, previous, None, LeftOut::default());
            }
        }
        let integrated = self.integrate_upstream(upstream, how)?;
        let IntegrationResult::Stopped(conflicts) = integrated.result else {
            return Ok(integrated);
        };
        // What only shows when files change, such as an untracked file in the way.
        let verb = match how {
            Integration::Rebase => "rebase",
            Integration::Merge | Integration::FastForwardOnly => "merge",
        };
        self.invoke(verb).word("--abort").run()?;
        if let Some(kept) = &integrated.kept {
            self.forget(kept)?;
        }
        if conflicts.is_empty() {
            return Err(Error::state(
                format!("the {verb} stopped half-way without conflicts, so it was undone"),
                "look for untracked files in the way with `git_status`, then call again",
            ));
        }
        let files = conflicts.files.into_iter().map(|file| file.path).collect();
        self.integrated(
            IntegrationResult::WouldConflict(files),
            previous,
            None,
            LeftOut::default(),
        )
    }

    /// The files in which the first commit conflicts that does.
    fn conflicts_of_rebasing(&self, ours: &ObjectId, upstream: &ObjectId) -> Result<Vec<String>, Error> {
        let listed = self
            .invoke("rev-list")
            .words(&[
                "--reverse",
                "--topo-order",
                "--no-merges",
                "--right-only",
                "--cherry-pick",
                "--parents",
            ])
            .operand(format!("{upstream}...{ours}"))
            .run()?;
        let mut tip = *upstream;
        for line in String::from_utf8_lossy(&listed.output).lines() {
            let mut ids = line.split(' ').filter_map(|id| id.parse::<ObjectId>().ok());
            let (Some(commit), Some(parent)) = (ids.next(), ids.next()) else {
                continue;
            };
            let step = self.try_merge(Some(&parent), &tip, &commit, &MergeOptions::default())?;
            if !step.conflicted.is_empty() {
                return Ok(step.conflicted);
            }
            tip = self.note("rebase", &step.tree, [&tip])?;
        }
        Ok(Vec::new())
    }

    fn integrated(
        &self,
        result: IntegrationResult,
        previous: Option<ObjectId>,
        kept: Option<Kept>,
        left_out: LeftOut,
    ) -> Result<Integrated, Error> {
        let head = self.head()?;
        Ok(Integrated {
            changed: self.changed_between(previous.as_ref(), head.as_ref())?,
            result,
            previous,
            head,
            kept,
            left_out,
        })
    }

    /// The name of the branch that is followed, where it is at this commit: it reads better in messages.
    fn upstream_name(&self, upstream: &ObjectId) -> Option<Revision> {
        let local = self.repository().local();
        let tracking = crate::upstream::tracking_branch(&local, local.head_name().ok()??.as_ref())?;
        let mut reference = local.try_find_reference(&tracking).ok()??;
        let is_there = reference.peel_to_id().ok()?.detach() == gix::ObjectId::from(*upstream);
        let revision = Revision::new(tracking.shorten().to_string()).ok()?;
        let means_it = is_there && self.commit_named(&revision).ok()? == *upstream;
        means_it.then_some(revision)
    }

    fn is_ancestor(&self, old: &ObjectId, new: &ObjectId) -> Result<bool, Error> {
        let finished = self
            .invoke("merge-base")
            .word("--is-ancestor")
            .object(old)
            .object(new)
            .run_whatever_it_answers()?;
        match finished.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(finished.failure("merge-base", self.repository().shown())),
        }
    }
}
