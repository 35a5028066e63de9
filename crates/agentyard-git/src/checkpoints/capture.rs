//! The state of a working tree, written down.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use gix::index::entry::Flags;
use gix::objs::tree::EntryKind;

use super::files::{Files, Found, is_safe};
use super::git_files::{self, GitFiles};
use super::heads::{auto_merge, heads};
use super::objects::{Objects, maker};
use super::recorded::Recorded;
use super::state::{FORMAT, State};
use super::{CheckpointNote, LeftOutReason};
use crate::error::check_cancelled;
use crate::status::{IgnoreRules, StagedFile, staged_files};
use crate::text::{self, parse_path};
use crate::{Confined, Error, Repository, Status, StatusOptions, Work, display_path, index};

/// A state, with all of its objects written and no commit yet.
pub(super) struct Captured {
    pub(super) recorded: Recorded,
    pub(super) git_files: GitFiles,
    parents: Vec<gix::ObjectId>,
    /// Objects that are new.
    pub(super) written: Vec<gix::ObjectId>,
}

/// What else to write down, because it is about to be changed.
#[derive(Default)]
pub(super) struct Also {
    /// Files, ignored or not.
    pub(super) files: BTreeSet<BString>,
    /// Branches, by their full names.
    pub(super) branches: BTreeSet<String>,
}

/// The most that is held of one file, and of all of them.
pub(super) const FILE_LIMIT: u64 = 64 << 20;
const TOTAL_LIMIT: u64 = 512 << 20;

/// The most files that one directory without tracked files may have.
const MAX_UNTRACKED: usize = 50_000;

/// More changes than this are not listed by a status.
const MAX_CHANGES: usize = 1_000_000;

/// The longest note that is taken.
const MAX_NOTE: usize = 200;

/// What the status and the index say.
struct Seen {
    head_tree: Option<gix::ObjectId>,
    staged: Vec<StagedFile>,
    /// Sides of conflicts, by stage and path.
    stages: Vec<StagedFile>,
    /// Files to read.
    candidates: BTreeSet<BString>,
    state: State,
}

impl Work<'_> {
    /// Writes down the state of the working tree.
    pub(super) fn capture(&self, also: &Also) -> Result<Captured, Error> {
        let repository = self.repository();
        let local = repository.local();
        let git_files = git_files::read(repository.confined_git_dir())?;
        let worktree = repository.confined_worktree().ok_or_else(|| Error::Missing {
            what: "there is no working tree".to_owned(),
        })?;
        let options = StatusOptions {
            limit: MAX_CHANGES,
            ..StatusOptions::default()
        };
        let mut seen = repository.status_and_index(&options, self.cancel(), |status, index| {
            self.see(&local, worktree, status, index)
        })?;
        seen.candidates.extend(also.files.iter().cloned());
        let mut objects = Objects::new(&local);
        let changed = seen.read_changed(worktree, &mut objects, self.cancel())?;
        let (head, parents) = heads(&local, &git_files, also)?;
        let state = State {
            format: FORMAT,
            head: head.0,
            branches: head.1,
            ..seen.state
        };
        let git: Vec<StagedFile> = git_files
            .iter()
            .map(|(path, content)| Ok((path.clone(), Some((EntryKind::Blob, objects.blob(content)?)))))
            .collect::<Result<_, Error>>()?;
        let mut part = |files: &[StagedFile]| match files {
            [] => Ok(None),
            files => objects.edited(None, files).map(Some),
        };
        let recorded = Recorded {
            tree: gix::ObjectId::null(local.object_hash()),
            changed: part(&changed)?,
            stages: part(&seen.stages)?,
            git: part(&git)?,
            index: objects.edited(seen.head_tree, &seen.staged)?,
            auto_merge: auto_merge(&local, &git_files),
            state,
        };
        Ok(Captured {
            recorded: recorded.write(&mut objects)?,
            git_files,
            parents,
            written: objects.written,
        })
    }

    /// Takes from the status and the index what a checkpoint needs.
    fn see(
        &self,
        local: &gix::Repository,
        worktree: &Confined,
        status: Status,
        index: &gix::index::State,
    ) -> Result<Seen, Error> {
        let repository = self.repository();
        if status.truncated {
            return Err(Error::state(
                "too many files differ for a checkpoint",
                "commit them, or put what is built into .gitignore",
            ));
        }
        let (head_tree, mut staged) =
            staged_files(repository, local, index, status.head.commit, self.cancel())?;
        let mut state = State::default();
        let stages = special_entries(repository, index, &mut staged, &mut state)?;
        let mut candidates = BTreeSet::new();
        let mut files = Files::new(worktree);
        let differing = [
            &status.unstaged.modified,
            &status.unstaged.type_changed,
            &status.unstaged.added,
        ];
        for shown in differing.into_iter().flatten() {
            let path = parse_path(shown);
            let entry = index.entry_by_path(path.as_bstr());
            // A submodule's own commits are its own matter.
            if entry.is_none_or(|entry| !entry.mode.is_submodule()) || !files.is_directory(path.as_bstr()) {
                candidates.insert(path);
            }
        }
        let mut directories = Vec::new();
        for shown in &status.unstaged.deleted {
            let path = parse_path(shown);
            // Whatever took the place of a file, the status says no more than that it is gone.
            if files.is_directory(path.as_bstr()) {
                directories.push(path);
            }
            state.missing.insert(shown.clone());
        }
        for conflicted in &status.conflicted {
            let path = parse_path(&conflicted.path);
            if files.is_directory(path.as_bstr()) {
                directories.push(path);
            } else {
                candidates.insert(path);
            }
        }
        for shown in &status.untracked {
            let path = parse_path(shown);
            match path.strip_suffix(b"/") {
                Some(directory) => directories.push(directory.into()),
                None => _ = candidates.insert(path),
            }
        }
        let rules = IgnoreRules::new(repository, worktree, local, index, self.cancel());
        for directory in directories {
            let found = rules.files_below(directory.as_bstr(), MAX_UNTRACKED)?;
            if found.truncated {
                state.leave_out(&directory, LeftOutReason::TooManyFiles);
                continue;
            }
            candidates.extend(found.files);
            for path in found.repositories {
                state.leave_out(&path, LeftOutReason::Repository);
            }
            for path in found.special {
                state.leave_out(&path, LeftOutReason::Special);
            }
        }
        Ok(Seen {
            head_tree,
            staged,
            stages,
            candidates,
            state,
        })
    }
}

impl Captured {
    /// Makes the commit. `title` names the checkpoint.
    pub(super) fn commit(
        &mut self,
        local: &gix::Repository,
        title: &str,
        note: &CheckpointNote<'_>,
    ) -> Result<gix::ObjectId, Error> {
        let clean = |text: &str| text::one_line(text).chars().take(MAX_NOTE).collect::<String>();
        let (operation, by) = (clean(note.operation), clean(note.by));
        let maker = maker();
        let commit = gix::objs::Commit {
            tree: self.recorded.tree,
            parents: self.parents.iter().copied().collect(),
            author: maker.clone(),
            committer: maker,
            encoding: None,
            message: format!("agentyard: checkpoint {title}\n\nOperation: {operation}\nBy: {by}\n").into(),
            extra_headers: Vec::new(),
        };
        let mut objects = Objects::new(local);
        let id = objects.commit(&commit)?;
        self.written.append(&mut objects.written);
        Ok(id)
    }
}

impl Seen {
    /// Reads the files that differ, and writes them as blobs.
    fn read_changed(
        &mut self,
        worktree: &Confined,
        objects: &mut Objects<'_>,
        cancel: &AtomicBool,
    ) -> Result<Vec<StagedFile>, Error> {
        let mut files = Files::new(worktree);
        let mut changed = Vec::new();
        let mut total = 0;
        for path in std::mem::take(&mut self.candidates) {
            check_cancelled(cancel)?;
            if !is_safe(path.as_bstr()) {
                continue;
            }
            let limit = FILE_LIMIT.min(TOTAL_LIMIT - total);
            let (kind, content) = match files.read(path.as_bstr(), limit)? {
                Found::File { content, permissions } => {
                    let is_executable = permissions & 0o100 != 0;
                    if permissions != if is_executable { 0o755 } else { 0o644 } {
                        let permissions_of = &mut self.state.permissions;
                        permissions_of.insert(display_path(path.as_bstr()), permissions);
                    }
                    let kinds = [EntryKind::Blob, EntryKind::BlobExecutable];
                    (kinds[usize::from(is_executable)], content)
                }
                Found::Link(target) => (EntryKind::Link, target),
                // Gone since the status was made.
                Found::Nothing | Found::Directory => {
                    self.state.missing.insert(display_path(path.as_bstr()));
                    continue;
                }
                Found::Special => {
                    self.state.leave_out(&path, LeftOutReason::Special);
                    continue;
                }
                Found::TooLarge => {
                    self.state.leave_out(&path, LeftOutReason::TooLarge);
                    continue;
                }
                Found::Unreadable => {
                    self.state.leave_out(&path, LeftOutReason::Unreadable);
                    continue;
                }
            };
            total += content.len() as u64;
            let id = objects.blob(&content)?;
            changed.push((path, Some((kind, id))));
        }
        Ok(changed)
    }
}

impl State {
    fn leave_out(&mut self, path: &BString, why: LeftOutReason) {
        self.left_out.insert(display_path(path.as_bstr()), why);
    }
}

/// Entries of the index that no tree can hold: the sides of conflicts, and flags.
fn special_entries(
    repository: &Repository,
    index: &gix::index::State,
    staged: &mut Vec<StagedFile>,
    state: &mut State,
) -> Result<Vec<StagedFile>, Error> {
    let mut stages = Vec::new();
    for entry in index.entries() {
        if entry.mode.is_sparse() {
            return Err(Error::UnsupportedRepository {
                path: repository.shown(),
                feature: "a sparse index (`index.sparse`)".to_owned(),
            });
        }
        let special = Flags::INTENT_TO_ADD | Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
        let stage = entry.stage_raw();
        if stage == 0 && !entry.flags.intersects(special) {
            continue;
        }
        let path = entry.path(index);
        let kind = entry.mode.to_tree_entry_mode().map(|mode| mode.kind());
        let Some(kind) = kind else {
            return Err(index::malformed(
                repository,
                "holds an entry that git would not write",
            ));
        };
        if stage != 0 {
            let side = BString::from([format!("{stage}/").as_bytes(), path].concat());
            stages.push((side, Some((kind, entry.id))));
            staged.push((path.to_owned(), None));
            continue;
        }
        let shown = display_path(path);
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            state.announced.insert(shown.clone(), entry.mode.bits());
        }
        if entry.flags.contains(Flags::SKIP_WORKTREE) {
            state.skipped.insert(shown.clone());
        }
        if entry.flags.contains(Flags::ASSUME_VALID) {
            state.assumed.insert(shown);
        }
    }
    Ok(stages)
}
