//! Going back to a checkpoint.
//!
//! What is there is written down first, so that going back can be undone. Then only what differs is changed. Should
//! this end halfway, the next attempt finds out again what differs, and goes on from there.

use std::collections::BTreeSet;

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::AtFlags;

use super::capture::{Also, FILE_LIMIT};
use super::files::{Files, Found};
use super::plan::{AtPath, Difference, differences};
use super::recorded::{self, Recorded};
use super::restore_files::{ATTRIBUTES_FILE, Counts, IGNORE_FILE, is_already, name_of};
use super::{Checkpoint, CheckpointName, CheckpointNote, CheckpointSeries, Unsettled, git_files};
use crate::{Confined, Error, Work, display_path};

/// What came of going back.
#[derive(Debug)]
pub struct Restored {
    /// What was there before, which can be gone back to in turn.
    pub from: Checkpoint,
    /// What is there now.
    pub to: Checkpoint,
    pub files_written: usize,
    pub files_removed: usize,
    /// Files that are not what they were then, because one of the two checkpoints does not hold them. They were left
    /// alone. A few dozen at most.
    pub not_restored: Vec<String>,
    /// What the disk has yet to be told to hold on to.
    pub unsettled: Unsettled,
}

/// How often what is there is compared with what is wanted. Once is enough, unless the rules by which git converts
/// files are among what was restored.
const PASSES: usize = 4;

/// The most files that are named.
const MAX_NAMED: usize = 50;

/// Locks that git takes where it works on what is restored here.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

impl Work<'_> {
    /// Makes the working tree, the index, the branch and the operation in progress what they were at a checkpoint.
    /// Ignored files stay as they are.
    pub fn restore_checkpoint(
        &self,
        series: &CheckpointSeries,
        which: &CheckpointName,
        note: &CheckpointNote<'_>,
    ) -> Result<Restored, Error> {
        self.require_worktree("to restore")?;
        self.refuse_locked()?;
        let local = self.repository().local();
        let (to, wanted) = recorded::find(&local, series, which)?;
        let mut also = Also {
            branches: wanted.state.branches.keys().cloned().collect(),
            ..Also::default()
        };
        let mut captured = self.capture(&also)?;
        self.refuse_branches_elsewhere(&captured.recorded, &wanted)?;
        also.files = self.in_the_way(&local, &captured.recorded, &wanted)?;
        if !also.files.is_empty() {
            let again = self.capture(&also)?;
            let written = std::mem::replace(&mut captured, again).written;
            captured.written.extend(written);
        }
        let git_files = captured.git_files.clone();
        let present = captured.recorded.clone();
        let made = self.checkpoint_of(captured, series, note)?;

        self.restore_heads(&present, &wanted, &to)?;
        let index_differed = self.restore_index(&present, &wanted)?;
        let mut counts = Counts::default();
        let mut present = present;
        for pass in 1..=PASSES {
            let found = differences(&local, &present, &wanted, self.cancel())?;
            let before = (counts.written.len(), counts.removed.len());
            self.restore_files(&local, &found, &mut counts)?;
            let is_settled = before == (counts.written.len(), counts.removed.len());
            if is_settled || pass == PASSES || !needs_second_look(&found) {
                break;
            }
            let attributes = found
                .iter()
                .filter(|difference| name_of(&difference.path) == ATTRIBUTES_FILE);
            self.look_at_files_again(&attributes.map(|difference| &difference.path).collect::<Vec<_>>())?;
            present = self.capture(&Also::default())?.recorded;
        }
        if index_differed {
            self.refresh_index()?;
        }
        // Last, so that an operation is in progress again only where everything else is as it was.
        let git_dir = self.repository().confined_git_dir();
        git_files::replace(git_dir, &git_files, &wanted.git_files(&local)?)?;
        Ok(Restored {
            from: made.checkpoint,
            files_written: counts.written.len(),
            files_removed: counts.removed.len(),
            not_restored: not_restored(&local, &present, &wanted, self)?,
            unsettled: made.unsettled,
            to,
        })
    }

    fn refuse_locked(&self) -> Result<(), Error> {
        let directory = self.repository().confined_git_dir().directory();
        let is_there =
            |lock: &&&str| rustix::fs::statat(directory, **lock, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        match LOCKS.iter().find(is_there) {
            Some(lock) => Err(self.locked(lock)),
            None => Ok(()),
        }
    }

    /// Files that are about to be overwritten and that nobody would know of afterwards: ignored ones.
    fn in_the_way(
        &self,
        local: &gix::Repository,
        present: &Recorded,
        wanted: &Recorded,
    ) -> Result<BTreeSet<BString>, Error> {
        let mut files = Files::new(self.top()?);
        let mut found = BTreeSet::new();
        for difference in differences(local, present, wanted, self.cancel())? {
            let Some(version) = difference.wanted.version() else {
                continue;
            };
            if difference.present == AtPath::Nothing {
                let there = files.read(difference.path.as_bstr(), FILE_LIMIT)?;
                let is_free = matches!(there, Found::Nothing | Found::Directory);
                if !is_free && !is_already(local, &there, &version) {
                    found.insert(difference.path);
                }
            }
        }
        Ok(found)
    }

    pub(super) fn top(&self) -> Result<&Confined, Error> {
        self.repository()
            .confined_worktree()
            .ok_or_else(|| Error::Missing {
                what: "there is no working tree".to_owned(),
            })
    }
}

/// Whether what was changed decides how other files are looked at.
fn needs_second_look(found: &[Difference]) -> bool {
    let mut names = found.iter().map(|difference| name_of(&difference.path));
    names.any(|name| name == IGNORE_FILE || name == ATTRIBUTES_FILE)
}

/// What one of the two states does not hold, and the other has.
fn not_restored(
    local: &gix::Repository,
    present: &Recorded,
    wanted: &Recorded,
    work: &Work<'_>,
) -> Result<Vec<String>, Error> {
    let found = differences(local, present, wanted, work.cancel())?;
    let unknown = found.iter().filter(|difference| {
        let concerns = |one: AtPath, other: AtPath| one == AtPath::Unknown && other != AtPath::Unknown;
        let (present, wanted) = (difference.present, difference.wanted);
        concerns(present, wanted) && wanted != AtPath::Nothing || concerns(wanted, present)
    });
    let unknown = unknown.map(|difference| display_path(difference.path.as_bstr()));
    Ok(unknown.take(MAX_NAMED).collect())
}
