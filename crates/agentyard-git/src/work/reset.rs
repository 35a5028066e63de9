//! `git reset`: moving the branch, and unstaging.

use super::loss::Loss;
use crate::program::LeftOut;
use crate::{Error, Head, Kept, ObjectId, RepositoryPath, Revision, Work};

/// What becomes of the index and the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResetMode {
    /// Both stay.
    Soft,
    /// The index follows the commit, the working tree stays.
    #[default]
    Mixed,
    /// Both follow the commit; changes are lost.
    Hard,
    /// Both follow the commit; unstaged changes stay, where they can.
    Merge,
    /// Both follow the commit; local changes stay, or it fails.
    Keep,
}

impl ResetMode {
    fn option(self) -> &'static str {
        match self {
            Self::Soft => "--soft",
            Self::Mixed => "--mixed",
            Self::Hard => "--hard",
            Self::Merge => "--merge",
            Self::Keep => "--keep",
        }
    }

    /// Whether it changes the working tree.
    fn is_destructive(self) -> bool {
        matches!(self, Self::Hard | Self::Merge | Self::Keep)
    }
}

/// Where to go back to.
#[derive(Debug, Clone)]
pub struct ResetOptions {
    pub mode: ResetMode,
    /// The commit.
    pub target: Revision,
    /// Only these files of the index; the branch stays.
    pub paths: Vec<RepositoryPath>,
    /// What is lost may be lost.
    pub confirm: bool,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResetDone {
    /// The commit that was checked out before.
    pub previous: Option<ObjectId>,
    /// What is checked out now.
    pub head: Head,
    /// How many commits left the branch.
    pub commits_removed: usize,
    /// Files that are not staged any more.
    pub unstaged: Vec<String>,
    /// Where what was thrown away is kept.
    pub kept: Vec<Kept>,
    pub left_out: LeftOut,
}

impl Work<'_> {
    /// Moves the branch that is checked out to another commit; with paths, only takes files of the index back.
    pub fn reset(&self, options: &ResetOptions) -> Result<ResetDone, Error> {
        let mode = options.mode;
        if mode != ResetMode::Soft {
            self.require_worktree("to reset; only `soft` works without one")?;
        }
        if !options.paths.is_empty() && mode != ResetMode::Mixed {
            return Err(Error::invalid(
                format!("`paths` together with `{}`", &mode.option()[2..]),
                "with `paths`, files are unstaged and nothing else, which is mode `mixed`; git_checkout with \
                 `paths` restores files in the working tree",
            ));
        }
        let before = self.repository().head()?;
        let target = self.reset_target(options, &before)?;
        let staged_before = match mode {
            ResetMode::Mixed => self.repository().staging(self.cancel())?.staged.paths(),
            _ => Vec::new(),
        };
        let (commits_removed, kept) = if options.paths.is_empty() {
            self.keep_what_reset_loses(options, &before, target)?
        } else {
            (0, Vec::new())
        };
        self.run_reset(options, target)?;
        let staged = match mode {
            ResetMode::Mixed => self.repository().staging(self.cancel())?.staged.paths(),
            _ => Vec::new(),
        };
        Ok(ResetDone {
            previous: before.commit,
            head: self.repository().head()?,
            commits_removed,
            unstaged: staged_before
                .into_iter()
                .filter(|path| staged.binary_search(path).is_err())
                .collect(),
            kept,
            left_out: self.left_out(&["post-index-change"]),
        })
    }

    /// The commit; none for what is checked out before there is a commit.
    fn reset_target(&self, options: &ResetOptions, head: &Head) -> Result<Option<ObjectId>, Error> {
        if head.commit.is_none() && options.target == Revision::head() {
            return Ok(None);
        }
        let commit = options.target.resolve_commit(&self.repository().local())?;
        Ok(Some(commit.into()))
    }

    fn keep_what_reset_loses(
        &self,
        options: &ResetOptions,
        head: &Head,
        target: Option<ObjectId>,
    ) -> Result<(usize, Vec<Kept>), Error> {
        let mode = options.mode;
        let commits = match target {
            Some(target) => self.commits_lost(head.commit, target)?,
            None => 0,
        };
        let branch = head.branch.as_deref();
        if commits > 0 && mode.is_destructive() && self.protects(branch) {
            return Err(Error::refused(
                format!(
                    "{commits} commits would leave {}, which is a protected branch",
                    branch.unwrap_or_default()
                ),
                "undo them with a commit that reverts them, or work on another branch (git_branch); which \
                 branches are protected is set in `git.protected_branches`",
            ));
        }
        // `keep` leaves what it would change alone, and fails.
        let loses_files = matches!(mode, ResetMode::Hard | ResetMode::Merge);
        let loss = Loss {
            commits,
            files: if loses_files {
                self.unsaved_files()?
            } else {
                Vec::new()
            },
        };
        if mode.is_destructive() || commits > 0 {
            let call = format!("a {} reset to {}", &mode.option()[2..], options.target);
            loss.require(options.confirm, &call)?;
        }
        let mut kept = Vec::new();
        if let (true, Some(commit)) = (commits > 0, &head.commit) {
            kept.push(self.keep("reset", commit)?);
        }
        if loses_files {
            kept.extend(self.keep_changes("reset", &[])?);
        }
        Ok((commits, kept))
    }

    fn run_reset(&self, options: &ResetOptions, target: Option<ObjectId>) -> Result<(), Error> {
        let mut invocation = self.invoke("reset").word("--quiet");
        if options.paths.is_empty() {
            invocation = invocation.word(options.mode.option());
        } else {
            invocation = invocation.paths_on_input(&options.paths);
        }
        if let Some(target) = &target {
            invocation = invocation.object(target);
        }
        invocation.run().map(drop)
    }
}
