//! States of a working tree that can be gone back to.
//!
//! A checkpoint is one commit under `refs/agentyard/checkpoints/<series>/<number>`, made in this process. Its
//! parents are the commits that the state rests upon, so that none of them is ever collected. Its tree holds:
//!
//! - `index/`: what is staged, as a tree.
//! - `changed/`: every file of the working tree that differs from the index or is not tracked, byte for byte.
//!   Ignored files are left out.
//! - `stages/1` to `stages/3`: the sides of unresolved conflicts.
//! - `git/`: the small files of an operation in progress.
//! - `auto-merge`: the tree that such an operation began with, where git keeps one.
//! - `state`: what no tree can say ([`state::State`]).
//!
//! No time is in the tree, nor who made the checkpoint and why: those are in the commit. So the same state gives
//! the same tree, and that nothing changed is told by its id.

mod capture;
mod files;
mod git_files;
mod heads;
mod keep;
mod list;
mod name;
mod objects;
mod plan;
mod recorded;
mod references;
mod restore;
mod restore_files;
mod restore_heads;
mod restore_index;
mod settle;
mod state;

use jiff::Timestamp;

use crate::{Error, Head, ObjectId, Work};
use capture::Captured;
pub use list::{
    CheckpointChange, CheckpointChangeKind, CheckpointPage, CheckpointQuery, ListedCheckpoint,
    MAX_CHECKPOINTS,
};
pub use name::{CheckpointName, CheckpointNote, CheckpointSeries};
pub(crate) use objects::Objects;
pub use restore::Restored;
pub use settle::Unsettled;

/// A state that can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its place in its series; none for one that was kept when its workspace was closed.
    pub number: Option<u64>,
    /// The commit.
    pub id: ObjectId,
    /// The reference that holds it, if it was found by one.
    pub reference: Option<String>,
    pub at: Timestamp,
    /// The call after which it was made.
    pub operation: String,
    /// Who made that call.
    pub by: String,
    /// What was checked out.
    pub head: Head,
    /// What the checkpoint does not hold.
    pub left_out: Vec<CheckpointLeftOut>,
}

/// A file or directory that a checkpoint does not hold, and that restoring leaves alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointLeftOut {
    pub path: String,
    pub why: LeftOutReason,
}

/// Why something is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// The file is larger than 64 MiB, or all together are larger than 512 MiB.
    TooLarge,
    /// A directory with more than 50,000 files that are not tracked.
    TooManyFiles,
    /// A repository of its own.
    Repository,
    /// A pipe, a socket or a device.
    Special,
    /// Closed to this server.
    Unreadable,
}

/// What came of asking for a checkpoint.
#[derive(Debug)]
pub struct CheckpointMade {
    pub checkpoint: Checkpoint,
    /// It was made now. Otherwise the newest one holds the same state already.
    pub new: bool,
    /// What the disk has yet to be told to hold on to.
    pub unsettled: Unsettled,
}

/// How often a number is tried again that somebody else took meanwhile.
const ATTEMPTS: usize = 8;

impl Work<'_> {
    /// Writes down the state of the working tree, unless the newest checkpoint of the series holds just that.
    pub fn checkpoint(
        &self,
        series: &CheckpointSeries,
        note: &CheckpointNote<'_>,
    ) -> Result<CheckpointMade, Error> {
        self.require_worktree("to make a checkpoint of")?;
        let captured = self.capture(&capture::Also::default())?;
        self.checkpoint_of(captured, series, note)
    }

    fn checkpoint_of(
        &self,
        mut captured: Captured,
        series: &CheckpointSeries,
        note: &CheckpointNote<'_>,
    ) -> Result<CheckpointMade, Error> {
        let repository = self.repository();
        let local = repository.local();
        let mut newest = references::newest(repository, &local, series)?;
        for _ in 0..ATTEMPTS {
            if let Some((number, id)) = &newest
                && let Ok(checkpoint) = recorded::checkpoint(&local, *id, Some((series, *number)))
                && recorded::tree_of(&local, *id)? == captured.recorded.tree
            {
                let new = false;
                let unsettled = Unsettled::default();
                return Ok(CheckpointMade {
                    checkpoint,
                    new,
                    unsettled,
                });
            }
            let number = newest.map_or(1, |(number, _)| number + 1);
            let id = captured.commit(&local, &format!("{series}/{number}"), note)?;
            if references::create(self, &series.reference(number), id)? {
                let unsettled = Unsettled::new(repository, &captured.written, series.reference(number))?;
                let checkpoint = recorded::checkpoint(&local, id, Some((series, number)))?;
                let new = true;
                return Ok(CheckpointMade {
                    checkpoint,
                    new,
                    unsettled,
                });
            }
            newest = references::all(&local, series)?.pop();
        }
        Err(Error::state(
            format!("the checkpoint was not made: others make checkpoints of {series} all the time"),
            "try again",
        ))
    }

    /// Removes the oldest checkpoints of a series, all but the `keep` newest, and says how many they were. The newest
    /// stays in any case: the numbers of those to come follow from it.
    pub fn prune_checkpoints(&self, series: &CheckpointSeries, keep: usize) -> Result<usize, Error> {
        let local = self.repository().local();
        let all = references::all(&local, series)?;
        let surplus = &all[..all.len().saturating_sub(keep.max(1))];
        references::delete(
            self,
            surplus
                .iter()
                .map(|(number, id)| (series.reference(*number), *id)),
        )?;
        Ok(surplus.len())
    }
}
