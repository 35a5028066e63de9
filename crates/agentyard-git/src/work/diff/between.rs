//! The two sides of a comparison.

use crate::program::Invocation;
use crate::{Error, ObjectId, Revision, Work};

/// What is compared with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Between {
    /// What is not staged.
    IndexAndWorktree,
    /// What is staged, compared with a commit; HEAD when none is named.
    CommitAndIndex(Option<Revision>),
    /// A commit and the working tree. A range compares its two ends, `a...b` what `b` did since it left `a`.
    CommitAndWorktree(Revision),
    /// Two commits.
    Commits(Revision, Revision),
    /// Two trees or commits that are known already.
    Objects(ObjectId, ObjectId),
}

/// The two sides, found.
pub(super) enum Sides {
    Worktree(Option<ObjectId>),
    Index(Option<ObjectId>),
    Objects(ObjectId, ObjectId),
}

impl Between {
    pub(super) fn resolve(&self, work: &Work<'_>) -> Result<Sides, Error> {
        let sides = match self {
            Self::IndexAndWorktree => Sides::Worktree(None),
            Self::CommitAndIndex(revision) => {
                let revision = revision.as_ref();
                Sides::Index(revision.map(|revision| one(work, revision)).transpose()?)
            }
            Self::CommitAndWorktree(revision) => match ends(work, revision)? {
                (from, Some(to)) => Sides::Objects(from, to),
                (commit, None) => Sides::Worktree(Some(commit)),
            },
            Self::Commits(from, to) => Sides::Objects(one(work, from)?, one(work, to)?),
            Self::Objects(from, to) => Sides::Objects(*from, *to),
        };
        if work.repository().worktree().is_none() && !matches!(sides, Sides::Objects(..)) {
            return Err(Error::state(
                "this repository has no working tree and no index to compare with",
                "compare two commits: pass `source` and `target`",
            ));
        }
        Ok(sides)
    }
}

impl Sides {
    pub(super) fn reads_worktree(&self) -> bool {
        matches!(self, Self::Worktree(_))
    }

    pub(super) fn operands<'a>(&self, invocation: Invocation<'a>) -> Invocation<'a> {
        match self {
            // Files in conflict are compared with our side.
            Self::Worktree(None) => invocation.word("--ours").end_of_options(),
            Self::Worktree(Some(commit)) => invocation.end_of_options().object(commit),
            Self::Index(None) => invocation.word("--cached").end_of_options(),
            Self::Index(Some(commit)) => invocation.word("--cached").end_of_options().object(commit),
            Self::Objects(from, to) => invocation.end_of_options().object(from).object(to),
        }
    }
}

fn one(work: &Work<'_>, revision: &Revision) -> Result<ObjectId, Error> {
    match ends(work, revision)? {
        (commit, None) => Ok(commit),
        _ => Err(Error::invalid(
            format!("the range {revision}"),
            "a single commit is wanted here; pass a range as `target` alone",
        )),
    }
}

/// The commit that a revision names, or the two that a range compares.
fn ends(work: &Work<'_>, revision: &Revision) -> Result<(ObjectId, Option<ObjectId>), Error> {
    let range = revision.resolve(&work.repository().local())?;
    match (range.include.as_slice(), range.exclude.as_slice()) {
        ([commit], []) => Ok(((*commit).into(), None)),
        ([to], [from]) => Ok(((*from).into(), Some((*to).into()))),
        ([_, to], [base, ..]) => Ok(((*base).into(), Some((*to).into()))),
        _ => Err(Error::state(
            format!("the two ends of {revision} have no common ancestor"),
            "compare them directly, with `..`",
        )),
    }
}
