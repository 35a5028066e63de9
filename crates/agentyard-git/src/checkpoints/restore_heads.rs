//! The branches of a checkpoint, and what was checked out.

use std::collections::BTreeSet;

use super::Checkpoint;
use super::recorded::Recorded;
use crate::worktrees::checked_out_elsewhere;
use crate::{Error, ObjectId, Work, display_path};

impl Work<'_> {
    /// Refuses to pull a branch away from under another working tree.
    pub(super) fn refuse_branches_elsewhere(
        &self,
        present: &Recorded,
        wanted: &Recorded,
    ) -> Result<(), Error> {
        let tips = &present.state.branches;
        let moves = wanted
            .state
            .branches
            .iter()
            .filter(|(name, tip)| tips.get(*name) != Some(*tip));
        let checked_out = wanted.state.head.branch.iter();
        let checked_out = checked_out.filter(|name| present.state.head.branch.as_ref() != Some(*name));
        let concerned: BTreeSet<&String> = moves.map(|(name, _)| name).chain(checked_out).collect();
        if concerned.is_empty() {
            return Ok(());
        }
        let elsewhere = checked_out_elsewhere(self.repository(), self.cancel())?;
        for (branch, place) in &elsewhere {
            if concerned.iter().any(|name| branch.as_bstr() == name.as_str()) {
                return Err(Error::state(
                    format!(
                        "the checkpoint was made on the branch `{}`, which is checked out in {} now",
                        display_path(branch.shorten()),
                        place.path().unwrap_or("a working tree outside the roots")
                    ),
                    "check out another branch there first, then restore again",
                ));
            }
        }
        Ok(())
    }

    pub(super) fn restore_heads(
        &self,
        present: &Recorded,
        wanted: &Recorded,
        to: &Checkpoint,
    ) -> Result<(), Error> {
        let message = format!("agentyard: restore checkpoint {}", to.id);
        for (name, tip) in &wanted.state.branches {
            if present.state.branches.get(name) == Some(tip) {
                continue;
            }
            let call = self.invoke("update-ref").value("-m", &message);
            match tip.as_deref().map(str::parse::<ObjectId>) {
                Some(Ok(id)) => call.end_of_options().operand(name).object(&id).run()?,
                // A branch without a commit, which may not exist for a moment more than it did.
                _ => call.words(&["-d"]).end_of_options().operand(name).run()?,
            };
        }
        let (before, after) = (&present.state.head, &wanted.state.head);
        match (&after.branch, &after.commit) {
            (Some(branch), _) if before.branch.as_ref() != Some(branch) => {
                let call = self.invoke("symbolic-ref").value("-m", &message);
                call.word("HEAD").operand(branch).run()?;
            }
            (None, Some(commit)) if before.branch.is_some() || before.commit.as_ref() != Some(commit) => {
                let id: ObjectId = commit.parse().map_err(|_| Error::Missing {
                    what: "the checkpoint names no commit".to_owned(),
                })?;
                let call = self.invoke("update-ref").value("-m", &message);
                call.words(&["--no-deref", "HEAD"]).object(&id).run()?;
            }
            _ => {}
        }
        Ok(())
    }
}
