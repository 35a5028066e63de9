//! `git rebase`: putting commits on another base, in another order, or together.

mod plan;
mod rewritten;
mod state;

use gix::refs::FullName;

use super::in_the_way::named_files;
use crate::program::{Finished, LeftOut, Trust};
use crate::upstream::tracking_branch;
use crate::work::Kept;
use crate::{BranchName, Conflicts, Error, ObjectId, Operation, RebaseProgress, Revision, Work};

/// What to rebase, and how.
#[derive(Debug, Clone, Default)]
pub struct RebaseOptions {
    /// Commits that this has stay as they are; the branch's upstream when left out.
    pub upstream: Option<Revision>,
    /// Where the commits are put; on `upstream` when left out.
    pub onto: Option<Revision>,
    /// The branch to rebase, which is checked out first.
    pub branch: Option<BranchName>,
    /// What becomes of each commit, in this order: `pick`, `squash`, `fixup`, `reword`, `edit` or `drop`, then the
    /// commit, then for `reword` (and `squash`, if wanted) the message.
    pub plan: Vec<String>,
    /// Make merges anew instead of flattening history.
    pub rebase_merges: bool,
    /// Put commits called `fixup! …` and `squash! …` where they belong.
    pub autosquash: bool,
    /// Whether to sign the commits; the settings decide when left out.
    pub sign: Option<bool>,
}

/// What came of a rebase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebased {
    pub result: RebaseResult,
    /// What is checked out now.
    pub head: Option<ObjectId>,
    /// Where the commits are kept that were replaced, or the files that were thrown away.
    pub kept: Option<Kept>,
    pub left_out: LeftOut,
}

/// How a rebase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebaseResult {
    UpToDate,
    /// So many commits are on the new base.
    Done {
        commits: usize,
    },
    /// It waits.
    Stopped(RebaseStop),
    Aborted,
}

/// Where and why a rebase waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebaseStop {
    pub progress: RebaseProgress,
    /// To be resolved; nothing when it stopped for another reason.
    pub conflicts: Conflicts,
    /// What git said, when there are no conflicts.
    pub said: String,
}

const HOOKS: &[&str] = &[
    "pre-rebase",
    "prepare-commit-msg",
    "commit-msg",
    "post-rewrite",
    "post-checkout",
];

impl Work<'_> {
    /// Rebases what is checked out. Where it cannot go on alone it stops, and the conflicts are the answer.
    pub fn rebase(&self, options: &RebaseOptions) -> Result<Rebased, Error> {
        options.check()?;
        self.require_worktree("to rebase in")?;
        self.require_nothing_in_progress()?;
        self.require_no_local_changes("git_rebase")?;
        let branch = self.branch_to_rebase(options)?;
        let before = self.tip_of(branch.as_ref())?;
        let upstream = self.upstream_for(options, branch.as_ref())?;
        let onto = match &options.onto {
            Some(onto) => self.commit_named(onto)?,
            None => upstream,
        };
        self.refuse_to_rewrite_what_is_published(branch.as_ref(), &upstream, &before)?;
        let plan = self.plan(options, &upstream, &before)?;
        // All that can be known to be wrong is known by now: from here on things change.
        if let Some(branch) = &options.branch {
            self.check_out(branch)?;
        }
        let kept = self.keep("rebase", &before)?;
        let finished = match plan {
            None => self.start(options, &upstream, &onto),
            Some(plan) => self.start_plan(options, &plan, &onto, before),
        };
        match finished.and_then(|finished| self.rebased(&finished, &onto, Some(before))) {
            Ok(rebased) if rebased.result != RebaseResult::UpToDate => Ok(Rebased {
                kept: Some(kept),
                ..rebased
            }),
            unchanged => {
                self.forget(&kept)?;
                unchanged
            }
        }
    }

    /// Goes on after conflicts are resolved and staged, whoever began it.
    pub fn continue_rebase(&self, sign: Option<bool>) -> Result<Rebased, Error> {
        self.require_in_progress(&[Operation::Rebase])?;
        self.require_resolved()?;
        self.go_on("--continue", sign, None)
    }

    /// Leaves out the commit at which it waits. What was done to the files is kept.
    pub fn skip_rebase(&self, sign: Option<bool>) -> Result<Rebased, Error> {
        self.require_in_progress(&[Operation::Rebase])?;
        let kept = self.keep_changes("rebase-skip", &[])?;
        self.go_on("--skip", sign, kept)
    }

    /// Gives up, whoever began it: the branch is where it was. What was done to the files is kept.
    pub fn abort_rebase(&self) -> Result<Rebased, Error> {
        self.require_in_progress(&[Operation::Rebase])?;
        let kept = self.keep_changes("rebase-abort", &[])?;
        self.invoke("rebase").word("--abort").run()?;
        Ok(Rebased {
            result: RebaseResult::Aborted,
            head: self.head()?,
            kept,
            left_out: LeftOut::default(),
        })
    }

    fn start(
        &self,
        options: &RebaseOptions,
        upstream: &ObjectId,
        onto: &ObjectId,
    ) -> Result<Finished, Error> {
        self.invoke_rebase(options.sign)?
            .words(&[
                "--merge",
                "--no-fork-point",
                "--no-stat",
                "--no-autostash",
                "--empty=drop",
            ])
            .word(if options.rebase_merges {
                "--rebase-merges"
            } else {
                "--no-rebase-merges"
            })
            // Before git 2.44 only an interactive rebase knows these; its editor is none.
            .words(if options.autosquash {
                &["--interactive", "--autosquash"]
            } else {
                &["--no-autosquash"]
            })
            .option("--onto", onto.to_string())
            .end_of_options()
            .object(upstream)
            .run_whatever_it_answers()
    }

    fn go_on(&self, how: &'static str, sign: Option<bool>, kept: Option<Kept>) -> Result<Rebased, Error> {
        self.refuse_programs_in_the_plan()?;
        let onto = self
            .repository()
            .rebase_progress()
            .and_then(|progress| progress.onto);
        let finished = self.invoke_rebase(sign)?.word(how).run_whatever_it_answers()?;
        let Some(onto) = onto else {
            return Err(finished.failure("rebase", self.repository().shown()));
        };
        Ok(Rebased {
            kept,
            ..self.rebased(&finished, &onto, None)?
        })
    }

    fn invoke_rebase(&self, sign: Option<bool>) -> Result<crate::program::Invocation<'_>, Error> {
        Ok(self
            .invoke_merging("rebase", sign)?
            // Of every repository, also one that is trusted: what stands in a plan is ours.
            .setting("rebase.instructionFormat", "%s")
            .setting("rebase.missingCommitsCheck", "ignore")
            .setting("rebase.abbreviateCommands", "false"))
    }

    /// What came of it, by the state in which git left the repository.
    fn rebased(
        &self,
        finished: &Finished,
        onto: &ObjectId,
        before: Option<ObjectId>,
    ) -> Result<Rebased, Error> {
        let head = self.head()?;
        let result = if let Some(progress) = self.repository().rebase_progress() {
            let conflicts = self.conflicts()?;
            RebaseResult::Stopped(RebaseStop {
                progress,
                said: if conflicts.is_empty() {
                    finished.said().chars().take(2000).collect()
                } else {
                    String::new()
                },
                conflicts,
            })
        } else if finished.code != Some(0) {
            let failure = finished.failure("rebase", self.repository().shown());
            return Err(named_files("the rebase", failure));
        } else if head == before {
            RebaseResult::UpToDate
        } else {
            let tips: Vec<ObjectId> = head.into_iter().collect();
            RebaseResult::Done {
                commits: self.commits_between(&[*onto], &tips)?.len(),
            }
        };
        Ok(Rebased {
            left_out: match result {
                RebaseResult::UpToDate => LeftOut::default(),
                _ => self.left_out(HOOKS),
            },
            result,
            head,
            kept: None,
        })
    }

    fn check_out(&self, branch: &BranchName) -> Result<(), Error> {
        let current = self.repository().local().head_name().ok().flatten();
        if current.is_some_and(|name| name.as_bstr() == branch.reference().as_str()) {
            return Ok(());
        }
        self.invoke("switch")
            .words(&["--quiet", "--no-guess"])
            .end_of_options()
            .operand(branch)
            .run()
            .map(drop)
            .map_err(|failure| named_files("checking out the branch", failure))
    }

    /// The branch whose commits are rebased; none when HEAD is detached.
    fn branch_to_rebase(&self, options: &RebaseOptions) -> Result<Option<FullName>, Error> {
        let Some(branch) = &options.branch else {
            return Ok(self.repository().local().head_name().ok().flatten());
        };
        FullName::try_from(branch.reference())
            .map(Some)
            .map_err(|_| Error::invalid(format!("the branch {branch}"), "git does not allow this name"))
    }

    fn tip_of(&self, branch: Option<&FullName>) -> Result<ObjectId, Error> {
        let tip = match branch {
            Some(branch) => self.commit_at(branch),
            None => self.head()?,
        };
        tip.ok_or_else(|| {
            Error::state(
                "there is no commit yet on this branch, so nothing can be rebased",
                "commit something first, or name a `branch` that exists",
            )
        })
    }

    fn upstream_for(&self, options: &RebaseOptions, branch: Option<&FullName>) -> Result<ObjectId, Error> {
        if let Some(upstream) = &options.upstream {
            return self.commit_named(upstream);
        }
        branch
            .and_then(|branch| tracking_branch(&self.repository().local(), branch.as_ref()))
            .and_then(|followed| self.commit_at(&followed))
            .ok_or_else(|| {
                Error::invalid(
                    "this rebase",
                    "the branch follows no other, so pass `upstream`: the commits to keep as they are",
                )
            })
    }

    fn commit_at(&self, name: &FullName) -> Option<ObjectId> {
        let local = self.repository().local();
        let mut reference = local.try_find_reference(name).ok()??;
        Some(reference.peel_to_id().ok()?.detach().into())
    }

    /// A protected branch may be rebased as long as nobody else can have the commits yet.
    fn refuse_to_rewrite_what_is_published(
        &self,
        branch: Option<&FullName>,
        upstream: &ObjectId,
        tip: &ObjectId,
    ) -> Result<(), Error> {
        let Some(name) = branch else {
            return Ok(());
        };
        let branch = name.shorten().to_string();
        if !self.git().settings().protected_branches.cover(&branch) {
            return Ok(());
        }
        let rewritten = self.commits_between(&[*upstream], &[*tip])?.len();
        let unpublished = self
            .invoke("rev-list")
            .word("--count")
            .object(tip)
            .operand(format!("^{upstream}"))
            .words(&["--not", "--remotes"])
            .run()?;
        let unpublished: usize = String::from_utf8_lossy(&unpublished.output)
            .trim()
            .parse()
            .unwrap_or(0);
        if rewritten == unpublished {
            return Ok(());
        }
        Err(Error::refused(
            format!(
                "{} of the commits to rebase are pushed already, and {branch} is a protected branch, whose history is \
                 not rewritten",
                rewritten - unpublished
            ),
            "rebase onto the branch's upstream, which leaves pushed commits alone; or make a branch of its own with \
             `git_branch` and rebase that",
        ))
    }

    /// A plan that somebody left in a repository may name programs.
    fn refuse_programs_in_the_plan(&self) -> Result<(), Error> {
        if self.trust() == Trust::Trusted || !state::names_programs(self.repository()) {
            return Ok(());
        }
        Err(Error::refused(
            "the rebase in progress has `exec` lines, which run programs",
            "give it up with `git_rebase` and `mode: \"abort\"`, or let a person who vouches for the repository run \
             `agentyard trust` on it",
        ))
    }

    pub(super) fn forget(&self, kept: &Kept) -> Result<(), Error> {
        self.invoke("update-ref")
            .word("-d")
            .end_of_options()
            .operand(&kept.reference)
            .object(&kept.id)
            .run()
            .map(drop)
    }
}

impl RebaseOptions {
    fn check(&self) -> Result<(), Error> {
        if !self.plan.is_empty() && (self.rebase_merges || self.autosquash) {
            return Err(Error::invalid(
                "this rebase",
                "`plan` says what becomes of each commit, so it cannot be combined with `rebase_merges` or `autosquash`",
            ));
        }
        Ok(())
    }
}
