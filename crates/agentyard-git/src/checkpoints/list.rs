//! The checkpoints of a working tree.

use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;

use super::plan::{AtPath, Difference, differences};
use super::recorded::{self, Recorded};
use super::{Checkpoint, CheckpointName, CheckpointSeries, references};
use crate::error::check_cancelled;
use crate::{Error, ObjectId, Repository, display_path};

/// Which checkpoints to list.
#[derive(Clone, Debug)]
pub struct CheckpointQuery {
    /// How many, [`MAX_CHECKPOINTS`] at most.
    pub limit: usize,
    /// Only those with a smaller number.
    pub before: Option<u64>,
}

/// Some checkpoints, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointPage {
    pub checkpoints: Vec<ListedCheckpoint>,
    /// There are older ones.
    pub more: bool,
}

/// A checkpoint, and how it differs from the one before. The first of a series has nothing before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCheckpoint {
    pub checkpoint: Checkpoint,
    /// Files of the working tree, a few dozen at most.
    pub changed: Vec<CheckpointChange>,
    /// How many there are.
    pub changed_count: usize,
    /// Something else is staged.
    pub staged_changed: bool,
    /// Another commit or branch is checked out.
    pub head_changed: bool,
}

/// A file that differs between two checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointChange {
    pub path: String,
    pub kind: CheckpointChangeKind,
}

/// How it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointChangeKind {
    Added,
    Modified,
    Deleted,
}

/// The most checkpoints that are listed at once.
pub const MAX_CHECKPOINTS: usize = 200;

/// The most files that are named of each.
const MAX_CHANGED: usize = 20;

impl Repository {
    /// Lists the checkpoints of a series, the newest first.
    pub fn checkpoints(
        &self,
        series: &CheckpointSeries,
        query: &CheckpointQuery,
        cancel: &AtomicBool,
    ) -> Result<CheckpointPage, Error> {
        let local = self.local();
        let all = references::all(&local, series)?;
        let end = all.partition_point(|(number, _)| query.before.is_none_or(|before| *number < before));
        let start = end.saturating_sub(query.limit.min(MAX_CHECKPOINTS));
        let mut before = match start.checked_sub(1) {
            Some(at) => Some(Recorded::read(&local, all[at].1)?),
            None => None,
        };
        let mut page = CheckpointPage {
            checkpoints: Vec::new(),
            more: start > 0,
        };
        for (number, _) in &all[start..end] {
            check_cancelled(cancel)?;
            let (checkpoint, recorded) = recorded::find(&local, series, &CheckpointName::Number(*number))?;
            let mut listed = ListedCheckpoint {
                checkpoint,
                changed: Vec::new(),
                changed_count: 0,
                staged_changed: false,
                head_changed: false,
            };
            if let Some(before) = &before {
                listed.compare(&differences(&local, before, &recorded, cancel)?);
                listed.staged_changed = (before.index, before.stages) != (recorded.index, recorded.stages);
                listed.head_changed = before.state.head != recorded.state.head;
            }
            page.checkpoints.push(listed);
            before = Some(recorded);
        }
        page.checkpoints.reverse();
        Ok(page)
    }
}

impl Repository {
    /// What a checkpoint has changed since another: so many files at most are named, and all are counted.
    pub fn changes_between(
        &self,
        before: ObjectId,
        after: ObjectId,
        most: usize,
        cancel: &AtomicBool,
    ) -> Result<(Vec<CheckpointChange>, usize), Error> {
        if before == after {
            return Ok((Vec::new(), 0));
        }
        let local = self.local();
        let before = Recorded::read(&local, before.into())?;
        let after = Recorded::read(&local, after.into())?;
        let mut changes: Vec<_> = differences(&local, &before, &after, cancel)?
            .iter()
            .filter_map(change)
            .collect();
        let count = changes.len();
        changes.truncate(most);
        Ok((changes, count))
    }
}

impl ListedCheckpoint {
    fn compare(&mut self, differences: &[Difference]) {
        let changes = differences.iter().filter_map(change);
        for change in changes {
            self.changed_count += 1;
            if self.changed.len() < MAX_CHANGED {
                self.changed.push(change);
            }
        }
    }
}

/// What happened to a file; nothing, when it was merely staged.
fn change(difference: &Difference) -> Option<CheckpointChange> {
    let versions = (difference.present.version(), difference.wanted.version());
    let kind = match versions {
        _ if [difference.present, difference.wanted].contains(&AtPath::Unknown) => return None,
        (before, after) if before == after => return None,
        (None, _) => CheckpointChangeKind::Added,
        (_, None) => CheckpointChangeKind::Deleted,
        (Some(_), Some(_)) => CheckpointChangeKind::Modified,
    };
    let path = display_path(difference.path.as_bstr());
    Some(CheckpointChange { path, kind })
}
