//! Going back to a checkpoint.
//!
//! What is there is written down first, so that going back can be undone. Then only what differs is changed. Should
//! this end halfway, the next attempt finds out again what differs, and goes on from there.

use std::collections::BTreeSet;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind;
use rustix::fs::AtFlags;

use super::capture::{Also, FILE_LIMIT};
use super::files::{Content, Files, Found};
use super::objects::blob_id;
use super::plan::{AtPath, Difference, Version, differences};
use super::recorded::{self, Recorded, read_blob};
use super::{Checkpoint, CheckpointName, CheckpointNote, CheckpointSeries, Unsettled, git_files};
use crate::status::IgnoreRules;
use crate::worktrees::checked_out_elsewhere;
use crate::{Confined, Error, ObjectId, Work, display_path, index};

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

/// Files that say what is ignored.
const IGNORE_FILE: &[u8] = b".gitignore";
/// Files that say how others are converted.
const ATTRIBUTES_FILE: &[u8] = b".gitattributes";

/// What changed in the working tree.
#[derive(Default)]
struct Counts {
    written: BTreeSet<BString>,
    removed: BTreeSet<BString>,
}

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

    /// Refuses to pull a branch away from under another working tree.
    fn refuse_branches_elsewhere(&self, present: &Recorded, wanted: &Recorded) -> Result<(), Error> {
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

    fn restore_heads(&self, present: &Recorded, wanted: &Recorded, to: &Checkpoint) -> Result<(), Error> {
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

    /// Removes what is not wanted, writes what is, and lets git check out what is as it was committed.
    fn restore_files(
        &self,
        local: &gix::Repository,
        found: &[Difference],
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let worktree = self.top()?;
        let mut files = Files::new(worktree);
        let to_write = || {
            found
                .iter()
                .filter(|difference| difference.wanted.version().is_some())
        };
        let written: BTreeSet<&BStr> = to_write().map(|difference| difference.path.as_bstr()).collect();
        let rules_change = found
            .iter()
            .any(|difference| name_of(&difference.path) == IGNORE_FILE);
        let mut perhaps_ignored = Vec::new();
        for difference in found {
            let Difference {
                path,
                present,
                wanted,
                is_tracked,
            } = difference;
            if *wanted != AtPath::Nothing || present.version().is_none() {
                continue;
            }
            if rules_change && !is_tracked && !is_in_the_way(path.as_bstr(), &written) {
                perhaps_ignored.push(path);
            } else if files.remove(path.as_bstr())? {
                counts.removed.insert(path.clone());
            }
        }
        let mut checked_out = Vec::new();
        for difference in to_write() {
            let path = &difference.path;
            match difference.wanted {
                _ if difference.present == AtPath::Unknown => {}
                AtPath::Raw(version) => {
                    if self.write_raw(local, &mut files, path, &version)? {
                        counts.written.insert(path.clone());
                    }
                }
                AtPath::CheckedOut(version) if difference.present.version() != Some(version) => {
                    checked_out.push(path);
                }
                AtPath::CheckedOut(_) | AtPath::Nothing | AtPath::Submodule | AtPath::Unknown => {}
            }
        }
        // git expects a directory for each submodule, also for those that are not checked out.
        for difference in found
            .iter()
            .filter(|difference| difference.wanted == AtPath::Submodule)
        {
            if difference.present != AtPath::Unknown {
                files.remove(difference.path.as_bstr())?;
                files.make_directory(difference.path.as_bstr())?;
            }
        }
        counts
            .written
            .extend(checked_out.iter().map(|path| (*path).clone()));
        self.check_out_files(&mut files, checked_out)?;
        if perhaps_ignored.is_empty() {
            return Ok(());
        }
        // What was ignored then was not written down then, and may have been there.
        let index = index::load(self.repository(), local)?;
        let rules = IgnoreRules::new(self.repository(), worktree, local, &index, self.cancel());
        for path in perhaps_ignored {
            if !rules.ignores(path.as_bstr())? && files.remove(path.as_bstr())? {
                counts.removed.insert(path.clone());
            }
        }
        Ok(())
    }

    /// Writes a file byte for byte, unless it is there already.
    fn write_raw(
        &self,
        local: &gix::Repository,
        files: &mut Files<'_>,
        path: &BString,
        version: &Version,
    ) -> Result<bool, Error> {
        let there = files.read(path.as_bstr(), FILE_LIMIT)?;
        if is_already(local, &there, version) {
            return Ok(false);
        }
        let bytes = read_blob(local, version.id)?;
        let content = match version.kind {
            EntryKind::Link => Content::Link(&bytes),
            _ => Content::File {
                content: &bytes,
                permissions: permissions_of(version),
            },
        };
        files.write(path.as_bstr(), &content)?;
        Ok(true)
    }

    /// Lets git write files as the index has them. Those that say how others are converted come first.
    fn check_out_files(&self, files: &mut Files<'_>, paths: Vec<&BString>) -> Result<(), Error> {
        let (attributes, others): (Vec<_>, Vec<_>) = paths
            .into_iter()
            .partition(|path| name_of(path) == ATTRIBUTES_FILE);
        for paths in [attributes, others] {
            if paths.is_empty() {
                continue;
            }
            let mut input = Vec::new();
            for path in paths {
                // git would clear the way by itself, and not ask what is ignored.
                files.clear_way(path.as_bstr())?;
                input.extend_from_slice(path);
                input.push(0);
            }
            self.invoke("checkout-index")
                .words(&["--force", "--index", "--quiet", "-z", "--stdin"])
                .input(input)
                .run()?;
        }
        Ok(())
    }

    fn top(&self) -> Result<&Confined, Error> {
        self.repository()
            .confined_worktree()
            .ok_or_else(|| Error::Missing {
                what: "there is no working tree".to_owned(),
            })
    }
}

/// Whether what is there is what is wanted, byte for byte.
fn is_already(local: &gix::Repository, there: &Found, version: &Version) -> bool {
    let (content, fits) = match there {
        Found::File { content, permissions } => (
            content,
            version.kind != EntryKind::Link && *permissions == permissions_of(version),
        ),
        Found::Link(target) => (target, version.kind == EntryKind::Link),
        _ => return false,
    };
    fits && blob_id(local, content) == Some(version.id)
}

fn permissions_of(version: &Version) -> u32 {
    let usual = match version.kind {
        EntryKind::BlobExecutable => 0o755,
        _ => 0o644,
    };
    version.permissions.unwrap_or(usual)
}

/// Whether a file is where a directory of another one belongs, or the reverse.
fn is_in_the_way(path: &BStr, written: &BTreeSet<&BStr>) -> bool {
    let mut below = path.to_owned();
    below.push(b'/');
    let next = written.range(below.as_bstr()..).next();
    let mut above = path.find_iter(b"/").map(|slash| path[..slash].as_bstr());
    next.is_some_and(|next| next.starts_with(&below)) || above.any(|above| written.contains(above))
}

/// Whether what was changed decides how other files are looked at.
fn needs_second_look(found: &[Difference]) -> bool {
    let mut names = found.iter().map(|difference| name_of(&difference.path));
    names.any(|name| name == IGNORE_FILE || name == ATTRIBUTES_FILE)
}

fn name_of(path: &BString) -> &[u8] {
    &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_told_from_what_is_beside() {
        let written: BTreeSet<&BStr> = ["a/b", "c"].map(BStr::new).into();
        for (path, expected) in [
            ("a", true),
            ("a/b/x", true),
            ("c/x/y", true),
            ("a/c", false),
            ("a-", false),
            ("b", false),
        ] {
            assert_eq!(is_in_the_way(path.into(), &written), expected, "{path}");
        }
    }
}
