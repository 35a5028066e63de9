//! What must be true before an operation begins, and before it goes on.

use crate::history::CommitRange;
use crate::program::{Invocation, Reach};
use crate::{Conflicts, Error, ObjectId, Operation, Revision, StatusOptions, Work};

impl Work<'_> {
    /// Refuses to begin while something else waits to be finished.
    pub(super) fn require_nothing_in_progress(&self) -> Result<(), Error> {
        if let Some(operation) = self.repository().operation()
            // Commits can be made, and merged, while one searches.
            && operation != Operation::Bisect
        {
            return Err(Error::state(
                format!("{} is in progress in this repository", with_article(operation)),
                "see `git_status`, which names the calls that continue or abort it",
            ));
        }
        let conflicts = self.conflicts()?;
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(Error::state(
            format!("there are unresolved conflicts in {}", conflicts.names()),
            "edit these files and stage them with `git_add` first",
        ))
    }

    /// Refuses to go on with what was not begun.
    pub(super) fn require_in_progress(&self, operations: &[Operation]) -> Result<Operation, Error> {
        match self.repository().operation() {
            Some(operation) if operations.contains(&operation) => Ok(operation),
            other => {
                let wanted = operations
                    .first()
                    .map_or_else(String::new, |operation| name(*operation).to_owned());
                let instead = other.map_or_else(String::new, |operation| {
                    format!("; {} is", with_article(operation))
                });
                Err(Error::state(
                    format!("no {wanted} is in progress in this repository{instead}"),
                    "see `git_status` for what is in progress; leave `mode` out to start",
                ))
            }
        }
    }

    /// Refuses to go on before every conflict is resolved.
    pub(super) fn require_resolved(&self) -> Result<(), Error> {
        let conflicts = self.conflicts()?;
        if conflicts.is_empty() {
            return Ok(());
        }
        Err(Error::state(
            format!(
                "these files still have unresolved conflicts: {}",
                conflicts.names()
            ),
            "edit them and stage them with `git_add`, then continue",
        ))
    }

    /// Refuses while tracked files have changes that are not committed.
    pub(super) fn require_no_local_changes(&self, tool: &str) -> Result<(), Error> {
        let options = StatusOptions {
            untracked: false,
            limit: 20,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, self.cancel())?;
        let (staged, unstaged) = (&status.staged, &status.unstaged);
        let mut changed: Vec<&str> = [
            &staged.added,
            &staged.modified,
            &staged.deleted,
            &staged.type_changed,
            &unstaged.modified,
            &unstaged.deleted,
            &unstaged.added,
            &unstaged.type_changed,
        ]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .chain(staged.renamed.iter().map(|moved| moved.to.as_str()))
        .collect();
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        changed.truncate(20);
        Err(Error::state(
            format!(
                "{tool} needs a clean working tree; uncommitted changes in {}",
                changed.join(", ")
            ),
            "commit them with `git_commit` or put them aside with `git_stash`, then call again",
        ))
    }

    pub(super) fn conflicts(&self) -> Result<Conflicts, Error> {
        self.repository().conflicts(self.cancel())
    }

    /// The one commit that a revision names.
    pub(super) fn commit_named(&self, revision: &Revision) -> Result<ObjectId, Error> {
        let CommitRange { include, exclude, .. } = revision.resolve(&self.repository().local())?;
        match (include.as_slice(), exclude.as_slice()) {
            ([id], []) => Ok((*id).into()),
            _ => Err(Error::invalid(
                format!("the revision {revision:?}"),
                "it names a range; name one commit",
            )),
        }
    }

    /// Commits, oldest first: those that can be reached from `tips` and not from `hidden`.
    pub(super) fn commits_between(
        &self,
        hidden: &[ObjectId],
        tips: &[ObjectId],
    ) -> Result<Vec<ObjectId>, Error> {
        let input: String = tips
            .iter()
            .map(|id| format!("{id}\n"))
            .chain(hidden.iter().map(|id| format!("^{id}\n")))
            .collect();
        let listed = self
            .invoke("rev-list")
            .words(&["--reverse", "--topo-order", "--stdin"])
            .input(input)
            .run()?;
        Ok(object_ids(&listed.output))
    }

    /// A call that merges contents, and that makes commits: signed where they are to be.
    pub(super) fn invoke_merging(
        &self,
        verb: &'static str,
        sign: Option<bool>,
    ) -> Result<Invocation<'_>, Error> {
        let call = self
            .invoke(verb)
            // Markers tell what both sides began with, which says more about their intent than either side does.
            .setting("merge.conflictStyle", "zdiff3")
            .setting("merge.log", "false")
            .setting("merge.verifySignatures", "false")
            .setting("merge.stat", "false");
        if self.signs(sign, "commit.gpgsign")? {
            let call = call.reach(Reach::SignedMerging);
            return Ok(self.with_own_key(call)?.setting("commit.gpgSign", "true"));
        }
        Ok(call.reach(Reach::Merging))
    }
}

/// The ids that git listed, one a line.
pub(super) fn object_ids(output: &[u8]) -> Vec<ObjectId> {
    String::from_utf8_lossy(output)
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Rebase => "rebase",
        Operation::CherryPick => "cherry-pick",
        Operation::Revert => "revert",
        Operation::Bisect => "bisect",
        Operation::ApplyMailbox => "am (applying of patches)",
    }
}

fn with_article(operation: Operation) -> String {
    let article = if operation == Operation::ApplyMailbox {
        "an"
    } else {
        "a"
    };
    format!("{article} {}", name(operation))
}
