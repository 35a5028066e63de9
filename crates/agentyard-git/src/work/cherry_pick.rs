//! `git cherry-pick`: commits of elsewhere, made again here.

use super::in_the_way::named_files;
use super::merge::MergeStrategy;
use crate::history::CommitRange;
use crate::program::{Finished, LeftOut};
use crate::work::Kept;
use crate::{Conflicts, Error, ObjectId, Operation, Revision, Work};

/// What to pick, and how.
#[derive(Debug, Clone, Default)]
pub struct CherryPickOptions {
    /// Commits and ranges, in this order; those of a range from the oldest on.
    pub commits: Vec<Revision>,
    /// Change files and index, and make no commit.
    pub no_commit: bool,
    /// For a merge: which of its parents it is compared with, from one.
    pub mainline: Option<u32>,
    pub strategy: Option<MergeStrategy>,
    /// Add a `Signed-off-by` line.
    pub signoff: bool,
    /// Add a line with the original's id.
    pub record_origin: bool,
    /// Keep commits that change nothing here, instead of leaving them out.
    pub keep_empty: bool,
    /// Whether to sign the commits; the settings decide when left out.
    pub sign: Option<bool>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CherryPicked {
    pub result: CherryPickResult,
    /// The new commits, oldest first.
    pub picked: Vec<ObjectId>,
    /// Commits that were left out, because they change nothing here.
    pub empty: Vec<ObjectId>,
    /// What is checked out now.
    pub head: Option<ObjectId>,
    /// Where the state of the files is kept that was thrown away.
    pub kept: Option<Kept>,
    pub left_out: LeftOut,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CherryPickResult {
    Done,
    /// It waits at this commit.
    Stopped {
        commit: Option<ObjectId>,
        /// Whether git remembers it. It does not for one commit with `no_commit`, which a commit concludes.
        in_progress: bool,
        /// To be resolved; nothing when it stopped for another reason.
        conflicts: Conflicts,
        /// What git said, when there are no conflicts.
        said: String,
    },
    Aborted,
}

const HOOKS: &[&str] = &["prepare-commit-msg", "commit-msg", "post-commit"];

/// More than anybody picks, and as many as one command line takes.
const MAX_COMMITS: usize = 1000;

/// A revert is continued, skipped and aborted in the same way.
const SEQUENCES: &[Operation] = &[Operation::CherryPick, Operation::Revert];

impl Work<'_> {
    /// Picks commits. Where it cannot go on alone it stops, and the conflicts are the answer.
    pub fn cherry_pick(&self, options: &CherryPickOptions) -> Result<CherryPicked, Error> {
        self.require_worktree("to pick commits into")?;
        self.require_nothing_in_progress()?;
        let commits = self.commits_to_pick(options)?;
        let before = self.head()?;
        let mut call = self
            .invoke_merging("cherry-pick", options.sign)?
            .word_if(options.no_commit, "--no-commit")
            .word_if(options.signoff, "--signoff")
            .word_if(options.record_origin, "-x")
            .words(&["--allow-empty", "--allow-empty-message"])
            .word_if(options.keep_empty, "--keep-redundant-commits");
        if let Some(mainline) = options.mainline {
            call = call.option("--mainline", mainline.to_string());
        }
        if let Some(strategy) = options.strategy {
            call = call.option("--strategy", strategy.as_str());
        }
        call = call.end_of_options();
        for commit in &commits {
            call = call.object(commit);
        }
        let finished = call.run_whatever_it_answers()?;
        self.picked("cherry-pick", finished, before, options.sign)
    }

    /// Goes on after conflicts are resolved and staged, whoever began it. A revert is continued too.
    pub fn continue_cherry_pick(&self, sign: Option<bool>) -> Result<CherryPicked, Error> {
        let verb = verb(self.require_in_progress(SEQUENCES)?);
        self.require_resolved()?;
        let before = self.head()?;
        let finished = self
            .invoke_merging(verb, sign)?
            .word("--continue")
            .run_whatever_it_answers()?;
        self.picked(verb, finished, before, sign)
    }

    /// Leaves out the commit at which it waits. What was done to the files is kept.
    pub fn skip_cherry_pick(&self, sign: Option<bool>) -> Result<CherryPicked, Error> {
        let verb = verb(self.require_in_progress(SEQUENCES)?);
        let before = self.head()?;
        let kept = self.keep_changes("cherry-pick-skip", &[])?;
        let finished = self
            .invoke_merging(verb, sign)?
            .word("--skip")
            .run_whatever_it_answers()?;
        Ok(CherryPicked {
            kept,
            ..self.picked(verb, finished, before, sign)?
        })
    }

    /// Gives up, whoever began it. What was done to the files is kept.
    pub fn abort_cherry_pick(&self) -> Result<CherryPicked, Error> {
        let verb = verb(self.require_in_progress(SEQUENCES)?);
        let kept = self.keep_changes("cherry-pick-abort", &[])?;
        self.invoke(verb).word("--abort").run()?;
        Ok(CherryPicked {
            result: CherryPickResult::Aborted,
            picked: Vec::new(),
            empty: Vec::new(),
            head: self.head()?,
            kept,
            left_out: LeftOut::default(),
        })
    }

    fn commits_to_pick(&self, options: &CherryPickOptions) -> Result<Vec<ObjectId>, Error> {
        let mut commits = Vec::new();
        for revision in &options.commits {
            let CommitRange { include, exclude, .. } = revision.resolve(&self.repository().local())?;
            let ids = |list: Vec<gix::ObjectId>| list.into_iter().map(ObjectId::from).collect::<Vec<_>>();
            let (include, exclude) = (ids(include), ids(exclude));
            if exclude.is_empty() && include.len() == 1 {
                commits.extend(include);
            } else {
                commits.extend(self.commits_between(&exclude, &include)?);
            }
        }
        match commits.len() {
            0 => Err(Error::invalid(
                "this cherry-pick",
                "`commits` names no commit; a range `a..b` has those of b that a lacks",
            )),
            1..=MAX_COMMITS => Ok(commits),
            _ => Err(Error::invalid(
                "this cherry-pick",
                format!("`commits` names more than {MAX_COMMITS} commits"),
            )),
        }
    }

    /// What came of it, by the state in which git left the repository. Commits that change nothing here are left
    /// out on the way.
    fn picked(
        &self,
        verb: &'static str,
        mut finished: Finished,
        before: Option<ObjectId>,
        sign: Option<bool>,
    ) -> Result<CherryPicked, Error> {
        let mut empty = Vec::new();
        let result = loop {
            if finished.code == Some(0) {
                break CherryPickResult::Done;
            }
            let conflicts = self.conflicts()?;
            let commit = self.commit_in_progress();
            if conflicts.is_empty() && finished.said().contains("is now empty") {
                empty.extend(commit);
                finished = self
                    .invoke_merging(verb, sign)?
                    .word("--skip")
                    .run_whatever_it_answers()?;
                continue;
            }
            let in_progress = self.repository().operation().is_some();
            if conflicts.is_empty() && !in_progress {
                let failure = finished.failure(verb, self.repository().shown());
                return Err(named_files("the cherry-pick", failure));
            }
            let said = if conflicts.is_empty() {
                finished.said().chars().take(2000).collect()
            } else {
                String::new()
            };
            break CherryPickResult::Stopped {
                commit,
                in_progress,
                conflicts,
                said,
            };
        };
        let head = self.head()?;
        let picked = match &head {
            Some(head) if before.as_ref() != Some(head) => {
                let hidden: Vec<ObjectId> = before.into_iter().collect();
                self.commits_between(&hidden, &[*head])?
            }
            _ => Vec::new(),
        };
        Ok(CherryPicked {
            result,
            picked,
            empty,
            head,
            kept: None,
            left_out: self.left_out(HOOKS),
        })
    }

    fn commit_in_progress(&self) -> Option<ObjectId> {
        let local = self.repository().local();
        ["CHERRY_PICK_HEAD", "REVERT_HEAD"].into_iter().find_map(|name| {
            let mut reference = local.try_find_reference(name).ok()??;
            Some(reference.peel_to_id().ok()?.detach().into())
        })
    }
}

fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Revert => "revert",
        _ => "cherry-pick",
    }
}
