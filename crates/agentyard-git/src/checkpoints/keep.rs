//! Unsaved work, kept when its working tree goes away.

use super::capture::{Also, Captured};
use super::name::OURS;
use super::{CheckpointNote, CheckpointSeries, references};
use crate::{Error, Kept, Operation, StatusOptions, Work};

impl Work<'_> {
    /// Keeps the state of the working tree under `refs/agentyard/kept/`, for as long as nobody deletes that.
    /// `label` says why, in one word.
    ///
    /// None when there is nothing that would be lost: no change, nothing staged, no untracked file, no operation in
    /// progress, and a commit that a branch or a tag has.
    pub fn keep_checkpoint(
        &self,
        series: &CheckpointSeries,
        label: &str,
        note: &CheckpointNote<'_>,
    ) -> Result<Option<Kept>, Error> {
        self.require_worktree("whose work could be kept")?;
        if label.is_empty()
            || !label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        {
            return Err(Error::invalid(
                format!("the label {label:?}"),
                "it has lower-case letters only",
            ));
        }
        if self.has_nothing_unsaved()? {
            return Ok(None);
        }
        let local = self.repository().local();
        let mut captured: Captured = self.capture(&Also::default())?;
        let id = captured.commit(&local, &format!("{series} ({label})"), note)?;
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let short = id.to_hex_with_len(12);
        let reference = format!("{OURS}kept/{now}-{label}-{short}");
        references::create(self, &reference, id)?;
        // Soon nothing else holds this work, so it is worth waiting for the disk.
        super::Unsettled::new(self.repository(), &captured.written, reference.clone())?.settle()?;
        Ok(Some(Kept {
            reference,
            id: id.into(),
        }))
    }

    fn has_nothing_unsaved(&self) -> Result<bool, Error> {
        let options = StatusOptions {
            limit: 1,
            ..StatusOptions::default()
        };
        let status = self.repository().status(&options, self.cancel())?;
        let is_busy = status
            .operation
            .is_some_and(|operation| operation != Operation::Bisect);
        if !status.is_clean() || is_busy {
            return Ok(false);
        }
        let (None, Some(commit)) = (&status.head.branch, &status.head.commit) else {
            return Ok(true);
        };
        let found = self
            .invoke("for-each-ref")
            .words(&["--count=1", "--format=%(refname)"])
            .option("--contains", commit.to_string())
            .words(&["refs/heads", "refs/remotes", "refs/tags"])
            .run()?;
        Ok(!found.output.is_empty())
    }
}
