//! `git merge`: joining histories.

mod octopus;
mod preview;

use std::ffi::OsString;

use super::in_the_way::named_files;
use crate::program::{Finished, Invocation, LeftOut};
use crate::work::{ChangedFiles, Kept};
use crate::{BranchName, Conflicts, Error, ObjectId, Operation, Revision, Work};
pub use preview::MergePreview;

/// What to merge, and how.
#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// What is merged into what is checked out.
    pub heads: Vec<Revision>,
    /// How; git chooses when left out.
    pub strategy: Option<MergeStrategy>,
    /// Which side wins where both changed the same lines.
    pub favor: Option<Favor>,
    /// Whether the branch may simply be moved forward.
    pub fast_forward: FastForward,
    /// Stage what the merge would bring, without a commit and without its history.
    pub squash: bool,
    /// The message of the merge commit.
    pub message: Option<String>,
    /// Whether to sign the merge commit; the settings decide when left out.
    pub sign: Option<bool>,
    /// Merge what has no common ancestor.
    pub allow_unrelated_histories: bool,
}

/// How a merge is made. Strategies that need a shell are not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStrategy {
    Ort,
    Recursive,
    Octopus,
    /// Keep our files, whatever the others have.
    Ours,
    Subtree,
}

/// Which side wins where both changed the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Favor {
    Ours,
    Theirs,
}

/// Whether a branch may simply be moved forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FastForward {
    #[default]
    Allowed,
    Never,
    Only,
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub result: MergeResult,
    /// What is checked out now.
    pub head: Option<ObjectId>,
    /// Files that the merge changed in what is checked out.
    pub changed: ChangedFiles,
    /// Where the state of the files is kept that an abort threw away.
    pub kept: Option<Kept>,
    pub left_out: LeftOut,
}

/// How a merge ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    UpToDate,
    FastForward,
    Committed,
    /// Staged, and to be committed.
    Squashed,
    /// It waits for these to be resolved.
    Stopped(Conflicts),
    /// As `Stopped`, for a squash: git remembers nothing of it, so a commit is what concludes it.
    SquashStopped(Conflicts),
    Aborted,
}

const HOOKS: &[&str] = &[
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-merge",
];

impl Work<'_> {
    /// Merges into what is checked out. Where it cannot go on alone it stops, and the conflicts are the answer.
    pub fn merge(&self, options: &MergeOptions) -> Result<Merged, Error> {
        options.check()?;
        self.require_worktree("to merge in")?;
        self.require_nothing_in_progress()?;
        let before = self.head()?;
        let heads = self.independent_heads(options, before.as_ref())?;
        match (heads.as_slice(), &before) {
            ([], _) => self.merged(MergeResult::UpToDate, before),
            ([head], _) => self.merge_one(options, head, before),
            (heads, Some(ours)) => self.merge_many(options, heads, *ours),
            (_, None) => Err(Error::state(
                "several heads cannot be merged before the first commit",
                "merge one of them first",
            )),
        }
    }

    /// Concludes a merge whose conflicts are resolved and staged, whoever began it.
    pub fn continue_merge(&self, message: Option<&str>, sign: Option<bool>) -> Result<Merged, Error> {
        self.require_in_progress(&[Operation::Merge])?;
        self.require_resolved()?;
        let before = self.head()?;
        match message {
            // The message that git prepared; its remarks about conflicts are taken out.
            None => self.invoke_merging("merge", sign)?.word("--continue"),
            Some(message) => self
                .invoke_merging("commit", sign)?
                .words(&["--quiet", "--cleanup=whitespace", "--file=-"])
                .input(message),
        }
        .run()?;
        self.merged(MergeResult::Committed, before)
    }

    /// Gives up a merge, whoever began it. What was done to resolve it is kept.
    pub fn abort_merge(&self) -> Result<Merged, Error> {
        self.require_in_progress(&[Operation::Merge])?;
        let before = self.head()?;
        let kept = self.keep_changes("merge-abort", &[])?;
        self.invoke("merge").word("--abort").run()?;
        Ok(Merged {
            kept,
            left_out: LeftOut::default(),
            ..self.merged(MergeResult::Aborted, before)?
        })
    }

    fn merge_one(
        &self,
        options: &MergeOptions,
        head: &Head,
        before: Option<ObjectId>,
    ) -> Result<Merged, Error> {
        let mut call = self
            .invoke_merging("merge", options.sign)?
            .words(&["--no-edit", "--no-stat", "--no-progress", "--no-autostash"])
            .words(options.fast_forward.words())
            .word_if(options.squash, "--squash")
            .word_if(options.allow_unrelated_histories, "--allow-unrelated-histories");
        call = options.choices(call);
        if let Some(message) = &options.message {
            call = call.option("--message", message);
        }
        let finished = call
            .end_of_options()
            .operand(&head.operand)
            .run_whatever_it_answers()?;
        let after = self.head()?;
        if finished.code == Some(0) {
            let result = match &after {
                _ if options.squash => MergeResult::Squashed,
                after if *after == before => MergeResult::UpToDate,
                Some(after) if *after == head.id => MergeResult::FastForward,
                _ => MergeResult::Committed,
            };
            return self.merged(result, before);
        }
        let conflicts = self.conflicts()?;
        if !conflicts.is_empty() {
            let result = if options.squash {
                MergeResult::SquashStopped(conflicts)
            } else {
                MergeResult::Stopped(conflicts)
            };
            return self.merged(result, before);
        }
        self.undo_unfinished_merge()?;
        Err(self.merge_failure(&finished))
    }

    /// A merge that failed without conflicts, for want of a signing key for example, leaves nothing behind.
    fn undo_unfinished_merge(&self) -> Result<(), Error> {
        if self.repository().operation() == Some(Operation::Merge) {
            self.invoke("merge").word("--abort").run()?;
        }
        Ok(())
    }

    fn merge_failure(&self, finished: &Finished) -> Error {
        let said = finished.said();
        if said.contains("Not possible to fast-forward") {
            return Error::state(
                "the branches have diverged, so a fast-forward is not possible",
                "leave `fast_forward_only` out to merge, or use `git_rebase`",
            );
        }
        if said.contains("refusing to merge unrelated histories") {
            return Error::state(
                "the two histories have no common ancestor",
                "if that is meant, pass `allow_unrelated_histories`",
            );
        }
        named_files("the merge", finished.failure("merge", self.repository().shown()))
    }

    fn merged(&self, result: MergeResult, before: Option<ObjectId>) -> Result<Merged, Error> {
        let head = self.head()?;
        Ok(Merged {
            changed: self.changed_between(before.as_ref(), head.as_ref())?,
            left_out: match result {
                MergeResult::UpToDate | MergeResult::Aborted => LeftOut::default(),
                _ => self.left_out(HOOKS),
            },
            result,
            head,
            kept: None,
        })
    }

    /// What is merged, without what another part of it contains already.
    fn independent_heads(&self, options: &MergeOptions, ours: Option<&ObjectId>) -> Result<Vec<Head>, Error> {
        let mut heads: Vec<Head> = Vec::new();
        for revision in &options.heads {
            let id = self.commit_named(revision)?;
            if heads.iter().all(|head| head.id != id) {
                let operand = self.spoken_name(revision, &id);
                heads.push(Head { id, operand });
            }
        }
        if heads.len() == 1 {
            return Ok(heads);
        }
        let mut call = self.invoke("merge-base").word("--independent");
        for id in ours.into_iter().chain(heads.iter().map(|head| &head.id)) {
            call = call.object(id);
        }
        let independent = super::in_progress::object_ids(&call.run()?.output);
        heads.retain(|head| independent.contains(&head.id) && Some(&head.id) != ours);
        Ok(heads)
    }

    /// How git is told of a commit: by a branch's name, which it then uses in messages and markers, where the
    /// name can mean nothing else; by its id otherwise.
    fn spoken_name(&self, revision: &Revision, id: &ObjectId) -> OsString {
        let named = || {
            let name = BranchName::new(revision.as_str()).ok()?;
            let is_plain = name.as_str().parse::<ObjectId>().is_err();
            let local = self.repository().local();
            let mut reference = local.try_find_reference(name.as_str()).ok()??;
            let full = reference.name().as_bstr().to_string();
            let is_branch = full == name.reference() || full == format!("refs/remotes/{name}");
            let is_same = reference.peel_to_id().ok()?.detach() == gix::ObjectId::from(*id);
            (is_plain && is_branch && is_same).then(|| name.as_str().into())
        };
        named().unwrap_or_else(|| id.to_string().into())
    }
}

/// A commit that is merged.
struct Head {
    id: ObjectId,
    operand: OsString,
}

impl MergeOptions {
    fn check(&self) -> Result<(), Error> {
        let fault = if self.heads.is_empty() {
            "pass `branch`: what to merge"
        } else if self.heads.len() > 16 {
            "merge at most 16 heads at once"
        } else if self.squash && self.fast_forward != FastForward::Allowed {
            "`squash` makes no merge commit, so it cannot be combined with `no_fast_forward` or `fast_forward_only`"
        } else if self.squash && (self.message.is_some() || self.heads.len() > 1) {
            "`squash` stages the changes of one branch; give the message to `git_commit`"
        } else if self.heads.len() > 1
            && !matches!(
                self.strategy,
                None | Some(MergeStrategy::Octopus | MergeStrategy::Ours)
            )
        {
            "several branches are merged by `octopus` or `ours` only"
        } else if self.heads.len() == 1 && self.strategy == Some(MergeStrategy::Octopus) {
            "`octopus` merges two branches or more"
        } else {
            return Ok(());
        };
        Err(Error::invalid("this merge", fault))
    }

    fn choices<'a>(&self, mut call: Invocation<'a>) -> Invocation<'a> {
        if let Some(strategy) = self.strategy {
            call = call.option("--strategy", strategy.as_str());
        }
        if let Some(favor) = self.favor {
            call = call.option("--strategy-option", favor.as_str());
        }
        call
    }
}

impl MergeStrategy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ort => "ort",
            Self::Recursive => "recursive",
            Self::Octopus => "octopus",
            Self::Ours => "ours",
            Self::Subtree => "subtree",
        }
    }
}

impl Favor {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
        }
    }
}

impl FastForward {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Allowed => &["--ff"],
            Self::Never => &["--no-ff"],
            Self::Only => &["--ff-only"],
        }
    }
}
