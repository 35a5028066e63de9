//! What is shown of branches.

use agentyard_model::Cursor;
use agentyard_services::{Branch, BranchAnswer, BranchChange, Head, In};
use schemars::JsonSchema;
use serde::Serialize;

use crate::git::short_id::short_id;
use crate::level::{Level, LevelledField};
use crate::output::Output;

/// Branches, or what became of one.
#[derive(Serialize, JsonSchema, Default)]
pub(in crate::git) struct BranchView {
    /// The repository's directory.
    repository: String,
    /// The branch that is checked out; none when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    /// HEAD is detached.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detached: bool,
    /// The current branch has no commit yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unborn: bool,
    /// The branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Vec<BranchRow>>,
    /// How many there are on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// The branch that was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Its commit, or that of HEAD.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The branch that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// The reference under which the commit is kept that a branch lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    #[serde(skip)]
    offset: usize,
}

/// A branch.
#[derive(Serialize, JsonSchema)]
struct BranchRow {
    /// Its name.
    name: String,
    /// Its last commit.
    commit: String,
    /// The branch that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// Commits that only it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<usize>,
    /// Commits that only its upstream has.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<usize>,
    /// The branch that it follows does not exist.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    upstream_gone: bool,
    /// The branch that it is another name for.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<String>,
    /// Another working tree that has it checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    /// The first line of its last commit's message.
    subject: String,
    /// When that was committed.
    committed_at: String,
}

impl Output for BranchView {
    const LEVELS: &'static [LevelledField] = &[
        ("branches.upstream", Level::Standard),
        ("branches.subject", Level::Full),
        ("branches.committed_at", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.branches.as_ref().map_or(0, Vec::len)
    }

    fn keep(&mut self, count: usize) {
        if let Some(branches) = &mut self.branches {
            branches.truncate(count);
        }
        self.truncated = true;
        self.next_cursor = Some(Cursor::at(self.offset + count));
    }
}

impl BranchView {
    fn of_head(head: Head) -> Self {
        Self {
            detached: head.branch.is_none(),
            unborn: head.commit.is_none(),
            current: head.branch,
            ..Self::default()
        }
    }

    fn of_change(change: BranchChange) -> Self {
        Self {
            branch: Some(change.name),
            commit: change.commit.map(|id| id.to_string()),
            upstream: change.upstream,
            kept: change.kept.map(|kept| kept.reference),
            ..Self::default()
        }
    }
}

impl From<In<BranchAnswer>> for BranchView {
    fn from(answer: In<BranchAnswer>) -> Self {
        let view = match answer.result {
            BranchAnswer::List {
                head,
                page,
                offset,
                next,
            } => Self {
                total: page.more.then_some(page.total),
                next_cursor: next.map(Cursor::at),
                offset,
                branches: Some(page.branches.into_iter().map(BranchRow::from).collect()),
                ..Self::of_head(head)
            },
            BranchAnswer::Current(head) => {
                let commit = head.commit.map(|id| id.to_string());
                Self {
                    commit,
                    ..Self::of_head(head)
                }
            }
            BranchAnswer::Changed(change) => Self::of_change(change),
        };
        Self {
            repository: answer.repository.display().to_string(),
            ..view
        }
    }
}

impl From<Branch> for BranchRow {
    fn from(branch: Branch) -> Self {
        let distance = branch.upstream.as_ref().and_then(|upstream| upstream.distance);
        let nonzero = |count: usize| Some(count).filter(|&count| count > 0);
        Self {
            name: branch.name,
            commit: short_id(branch.commit),
            ahead: distance.and_then(|distance| nonzero(distance.ahead)),
            behind: distance.and_then(|distance| nonzero(distance.behind)),
            upstream: branch.upstream.map(|upstream| upstream.name),
            upstream_gone: branch.upstream_gone,
            alias_of: branch.alias_of,
            worktree: branch
                .worktree
                .map(|place| place.path().unwrap_or("outside the roots").to_owned()),
            subject: branch.subject,
            committed_at: branch.committed_at.to_string(),
        }
    }
}
