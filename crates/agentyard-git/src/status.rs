//! What changed since the last commit.

mod content;
mod conversion;
mod directory;
mod entry;
mod findings;
mod head;
mod ignore;
mod index_changes;
mod kept;
mod queue;
mod records;
mod rules;
mod scan;
mod staged;
mod staging;
mod submodule;
mod tracked;
mod untracked;
mod untracked_files;
mod visit;
mod watch;
mod watched;
mod working_files;

use std::sync::atomic::AtomicBool;

use gix::bstr::BString;

use self::head::LastDistance;
use crate::error::check_cancelled;
use crate::{Error, ObjectId, RebaseProgress, Repository, display_path, index};
pub(crate) use directory::{Continue, Directory};
pub(crate) use entry::pattern_case;
pub(crate) use ignore::{Excludes, Sources};
pub(crate) use kept::KeptStatus;
pub(crate) use rules::info_file;
pub(crate) use staged::{StagedFile, staged_files};
pub use staging::Staging;
pub(crate) use tracked::conflict;
pub(crate) use untracked_files::IgnoreRules;
pub(crate) use watch::WatchBudget;
pub(crate) use working_files::{WorkingFile, WorkingFiles};

/// What to look for.
#[derive(Clone, Debug)]
pub struct StatusOptions {
    /// Look for files that are not tracked. Costs one listing of every directory.
    pub untracked: bool,
    /// Report ignored files too. Has no effect without `untracked`.
    pub ignored: bool,
    /// How many paths each list may hold; [`Status::truncated`] tells when there were more.
    pub limit: usize,
}

/// The state of a repository and its working tree. Every list is sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// There is no working tree. All lists are empty then; head, upstream and operation are those of the
    /// repository.
    pub bare: bool,
    pub head: Head,
    pub upstream: Option<Upstream>,
    pub operation: Option<Operation>,
    /// How far a rebase in progress is.
    pub rebase: Option<RebaseProgress>,
    pub staged: Staged,
    pub unstaged: Unstaged,
    /// A directory without tracked files appears once, with a slash at its end; so does a nested repository.
    pub untracked: Vec<String>,
    /// As `untracked`, when asked for.
    pub ignored: Vec<String>,
    pub conflicted: Vec<Conflicted>,
    /// At least one list was cut at [`StatusOptions::limit`].
    pub truncated: bool,
}

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch, without `refs/heads/`; none when the head is detached.
    pub branch: Option<String>,
    /// The commit; none before the first one.
    pub commit: Option<ObjectId>,
}

/// The branch that the current one follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Short, such as `origin/main`.
    pub name: String,
    /// How far apart the two are; none when the upstream was never fetched, or is gone.
    pub distance: Option<Distance>,
}

/// Commits that only one of two branches has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    pub ahead: usize,
    pub behind: usize,
}

/// An operation that was begun and waits to be continued or aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    ApplyMailbox,
}

/// Differences between the last commit and the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    pub added: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
    pub renamed: Vec<Moved>,
    /// Only where the repository is configured to look for copies (`status.renames = copies`).
    pub copied: Vec<Moved>,
    pub type_changed: Vec<String>,
}

/// A file that was found again under another name, perhaps with changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moved {
    pub to: String,
    pub from: String,
}

/// Differences between the index and the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unstaged {
    /// A submodule counts as modified when another commit is checked out in it; its own files are not looked
    /// at.
    ///
    /// A file with a `filter` attribute counts as modified as soon as it was touched: filters are programs,
    /// and none is started here.
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
    /// Announced with `git add --intent-to-add`.
    pub added: Vec<String>,
    pub type_changed: Vec<String>,
}

/// A file with unresolved conflicts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflicted {
    pub path: String,
    pub conflict: Conflict,
}

/// What the two sides of a merge did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conflict {
    BothDeleted,
    AddedByUs,
    DeletedByThem,
    AddedByThem,
    DeletedByUs,
    BothAdded,
    BothModified,
}

/// Enough for a person or an agent to see what is going on, and small enough for one reply.
const DEFAULT_LIMIT: usize = 10_000;

impl Default for StatusOptions {
    fn default() -> Self {
        Self {
            untracked: true,
            ignored: false,
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Status {
    /// Nothing to commit, add or resolve. Ignored files do not count.
    pub fn is_clean(&self) -> bool {
        self.staged == Staged::default()
            && self.unstaged == Unstaged::default()
            && self.untracked.is_empty()
            && self.conflicted.is_empty()
    }
}

impl Repository {
    /// Compares the last commit, the index and the working tree, like `git status`. Writes nothing.
    ///
    /// A repository that is kept open ([`crate::KeptRepositories`]) is watched from the second time on, where
    /// that pays, so that only what changed is looked at.
    pub fn status(&self, options: &StatusOptions, cancel: &AtomicBool) -> Result<Status, Error> {
        self.status_and_index(options, cancel, |status, _| Ok(status))
    }

    /// The status, and what `then` makes of it and of the index that it rests upon. Whoever else asks for the
    /// status of a watched repository waits meanwhile.
    pub(crate) fn status_and_index<T>(
        &self,
        options: &StatusOptions,
        cancel: &AtomicBool,
        then: impl FnOnce(Status, &gix::index::State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.kept_status() {
            Some(kept) => kept.status(self, options, cancel, then),
            None => self.walked_status(options, cancel, then),
        }
    }

    /// The status found by walking over the whole tree.
    fn walked_status<T>(
        &self,
        options: &StatusOptions,
        cancel: &AtomicBool,
        then: impl FnOnce(Status, &gix::index::State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let local = self.local();
        let mut status = Status {
            bare: self.worktree().is_none(),
            operation: head::operation(&local),
            rebase: self.rebase_progress(),
            ..Status::default()
        };
        let Some(worktree) = self.confined_worktree() else {
            (status.head, status.upstream) =
                head::head_and_upstream(&local, &mut LastDistance::default(), cancel)?;
            return then(status, &gix::index::State::new(local.object_hash()));
        };
        let index = index::load(self, &local)?;
        let scan = scan::Scan::new(self, &local, worktree, &index, options, cancel);
        let (staged, found) = scan.run(|| {
            (status.head, status.upstream) =
                head::head_and_upstream(&local, &mut LastDistance::default(), cancel)?;
            staged::changes(self, &local, &index, &status.head, cancel)
        })?;
        check_cancelled(cancel)?;
        status.take(staged, found.findings, options.limit);
        then(status, &index)
    }
}

impl Status {
    fn take(&mut self, staged: staged::Changes, findings: findings::Findings, limit: usize) {
        let mut lists = Lists {
            limit,
            truncated: staged.truncated || findings.truncated,
        };
        self.staged = lists.staged(staged);
        self.unstaged = Unstaged {
            modified: lists.paths(findings.modified),
            deleted: lists.paths(findings.deleted),
            added: lists.paths(findings.added),
            type_changed: lists.paths(findings.type_changed),
        };
        self.untracked = lists.paths(findings.untracked);
        self.ignored = lists.paths(findings.ignored);
        self.conflicted = lists
            .cut(findings.conflicted)
            .into_iter()
            .map(|(path, conflict)| Conflicted {
                path: display_path(path.as_ref()),
                conflict,
            })
            .collect();
        self.truncated = lists.truncated;
    }
}

/// Sorts lists, cuts them, and remembers whether any was cut.
struct Lists {
    limit: usize,
    truncated: bool,
}

impl Lists {
    fn staged(&mut self, staged: staged::Changes) -> Staged {
        Staged {
            added: self.paths(staged.added),
            modified: self.paths(staged.modified),
            deleted: self.paths(staged.deleted),
            renamed: self.moves(staged.renamed),
            copied: self.moves(staged.copied),
            type_changed: self.paths(staged.type_changed),
        }
    }

    fn paths(&mut self, paths: Vec<BString>) -> Vec<String> {
        self.cut(paths)
            .iter()
            .map(|path| display_path(path.as_ref()))
            .collect()
    }

    fn moves(&mut self, moves: Vec<(BString, BString)>) -> Vec<Moved> {
        self.cut(moves)
            .iter()
            .map(|(to, from)| Moved {
                to: display_path(to.as_ref()),
                from: display_path(from.as_ref()),
            })
            .collect()
    }

    fn cut<T: Ord>(&mut self, mut list: Vec<T>) -> Vec<T> {
        list.sort_unstable();
        if list.len() > self.limit {
            list.truncate(self.limit);
            self.truncated = true;
        }
        list
    }
}
