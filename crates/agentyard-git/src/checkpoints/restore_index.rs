//! The index of a checkpoint, put back.

use std::io::{BufWriter, Write as _};

use gix::bstr::{BString, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stage, Stat};
use gix::objs::tree::EntryKind;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::files::is_safe;
use super::recorded::Recorded;
use crate::text::parse_path;
use crate::{Error, ObjectId, Work, display_path, index};

/// While this exists, git leaves the index alone; moving it over the index is how git changes that, too.
const LOCK: &str = "index.lock";

impl Work<'_> {
    /// Makes the index what it was, and says whether it was something else. Entries that stay the same keep what is
    /// known about their files.
    pub(super) fn restore_index(&self, present: &Recorded, wanted: &Recorded) -> Result<bool, Error> {
        let is_same = present.index == wanted.index
            && present.stages == wanted.stages
            && present.state.announced == wanted.state.announced
            && present.state.skipped == wanted.state.skipped
            && present.state.assumed == wanted.state.assumed;
        if is_same {
            return Ok(false);
        }
        // git knows best which entries stay what they are, and remembers the trees.
        self.invoke("read-tree")
            .word("--reset")
            .object(&ObjectId::from(wanted.index))
            .run()?;
        if [present, wanted].into_iter().any(has_special_entries) {
            self.write_special_entries(wanted)?;
        }
        Ok(true)
    }

    /// Forgets what the index knows about files to which these `.gitattributes` apply, and finds it out again: what
    /// was taken for unchanged by other rules may not be by these.
    pub(super) fn look_at_files_again(&self, attributes: &[&BString]) -> Result<(), Error> {
        if attributes.is_empty() {
            return Ok(());
        }
        let directories: Vec<&[u8]> = attributes.iter().map(|path| directory_of(path)).collect();
        let repository = self.repository();
        let lock = self.lock_index()?;
        let mut state = index::load(repository, &repository.local())?;
        for (entry, path) in state.entries_mut_with_paths() {
            if directories.iter().any(|directory| path.starts_with(directory)) {
                entry.stat = Stat::default();
            }
        }
        lock.replace(state)?;
        self.refresh_index()
    }

    /// Has git note in the index which files are unchanged, so that nobody reads them again to find out.
    pub(super) fn refresh_index(&self) -> Result<(), Error> {
        // It answers with a failure when a file differs.
        self.invoke("update-index")
            .words(&["-q", "--refresh"])
            .run_whatever_it_answers()?;
        Ok(())
    }

    /// Adds the entries that no tree can hold.
    fn write_special_entries(&self, wanted: &Recorded) -> Result<(), Error> {
        let repository = self.repository();
        let local = repository.local();
        let lock = self.lock_index()?;
        let mut state = index::load(repository, &local)?;
        let own = Flags::INTENT_TO_ADD | Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::EXTENDED;
        for (entry, path) in state.entries_mut_with_paths() {
            let shown = display_path(path);
            entry.flags.remove(own);
            if wanted.state.skipped.contains(&shown) {
                entry.flags.insert(Flags::SKIP_WORKTREE | Flags::EXTENDED);
            }
            if wanted.state.assumed.contains(&shown) {
                entry.flags.insert(Flags::ASSUME_VALID);
            }
        }
        for (stage, path, kind, id) in wanted.conflict_sides(&local)? {
            let stage = match stage {
                1 => Stage::Base,
                2 => Stage::Ours,
                _ => Stage::Theirs,
            };
            if is_safe(path.as_bstr()) {
                let mode = mode_of(kind);
                state.dangerously_push_entry(
                    Stat::default(),
                    id,
                    Flags::from_stage(stage),
                    mode,
                    path.as_bstr(),
                );
            }
        }
        let empty = gix::ObjectId::empty_blob(local.object_hash());
        for (shown, mode) in &wanted.state.announced {
            let path: BString = parse_path(shown);
            let mode = Mode::from_bits(*mode).filter(|_| is_safe(path.as_bstr()));
            if let Some(mode) = mode {
                let flags = Flags::INTENT_TO_ADD | Flags::EXTENDED;
                state.dangerously_push_entry(Stat::default(), empty, flags, mode, path.as_bstr());
            }
        }
        state.sort_entries();
        state.remove_tree();
        lock.replace(state)
    }

    fn lock_index(&self) -> Result<IndexLock<'_>, Error> {
        let directory = self.repository().confined_git_dir();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(
            directory.directory(),
            LOCK,
            flags,
            rustix::fs::Mode::from_raw_mode(0o666),
        ) {
            Ok(file) => Ok(IndexLock {
                work: self,
                file: file.into(),
                is_held: true,
            }),
            Err(Errno::EXIST) => Err(self.locked(LOCK)),
            Err(errno) => Err(self.index_failed(errno.into())),
        }
    }

    pub(super) fn locked(&self, lock: &str) -> Error {
        let directory = self.repository().confined_git_dir().shown();
        Error::Locked {
            verb: "restore",
            lock: format!("{directory}/{lock}"),
        }
    }

    fn index_failed(&self, source: std::io::Error) -> Error {
        Error::state(
            format!("the index could not be restored: {source}"),
            "see whether the disk is full, and whether the repository may be written to; then restore again",
        )
    }
}

/// Holds the index, until it is replaced or this is dropped.
struct IndexLock<'a> {
    work: &'a Work<'a>,
    file: std::fs::File,
    is_held: bool,
}

impl IndexLock<'_> {
    fn replace(mut self, state: gix::index::State) -> Result<(), Error> {
        let written = {
            let mut file = BufWriter::new(&self.file);
            gix::index::File::from_state(state, "index")
                .write_to(&mut file, gix::index::write::Options::default())
                .map_err(|error| std::io::Error::other(error.to_string()))
                .and_then(|_| file.flush())
        };
        let directory = self.work.repository().confined_git_dir().directory();
        let renamed = written.and_then(|()| Ok(rustix::fs::renameat(directory, LOCK, directory, "index")?));
        self.is_held = renamed.is_err();
        renamed.map_err(|source| self.work.index_failed(source))
    }
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        if self.is_held {
            let directory = self.work.repository().confined_git_dir().directory();
            let _ = rustix::fs::unlinkat(directory, LOCK, AtFlags::empty());
        }
    }
}

fn has_special_entries(recorded: &Recorded) -> bool {
    let state = &recorded.state;
    recorded.stages.is_some()
        || !state.announced.is_empty()
        || !state.skipped.is_empty()
        || !state.assumed.is_empty()
}

/// The directory of a file, with a slash at its end.
fn directory_of(path: &BString) -> &[u8] {
    &path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)]
}

fn mode_of(kind: EntryKind) -> Mode {
    match kind {
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
        EntryKind::Blob | EntryKind::Tree => Mode::FILE,
    }
}
