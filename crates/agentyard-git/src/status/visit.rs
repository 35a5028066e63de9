//! The tracked files of one directory.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

use gix::bstr::{BString, ByteSlice as _};
use gix::index::Entry;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::directory::{Continue, Directory};
use super::entry::{Change, Comparison};
use super::scan::{Scan, Task, Worker};
use super::tracked::{Subdirectory, Tracked, conflict};
use super::{check_cancelled, submodule};
use crate::{Error, display_path};

impl<'a> Scan<'a> {
    /// Lists the directory: finds what is tracked, and what is not. Gives the directories to visit next.
    pub(super) fn list(
        &self,
        directory: &Arc<Directory>,
        tracked: &Tracked<'a>,
        worker: &mut Worker<'a>,
    ) -> Result<Vec<Task>, Error> {
        let mut files_seen = vec![false; tracked.files.len()];
        let mut directories_seen = vec![false; tracked.directories.len()];
        let mut untracked = Vec::new();
        directory.list(|name, kind| {
            check_cancelled(self.cancel)?;
            let bytes = name.to_bytes();
            let file = tracked.file(bytes);
            if kind == FileType::Directory {
                if let Some(at) = tracked.directory(bytes) {
                    directories_seen[at] = true;
                } else if let Some(at) = file {
                    // A directory in the place of a file: git says that the file is gone, and nothing about
                    // the directory.
                    let entries = &tracked.files[at].entries;
                    files_seen[at] = self.is_submodule(entries);
                    if files_seen[at] {
                        self.compare_submodule(entries, worker);
                    }
                } else {
                    untracked.push(BString::from(bytes));
                }
            } else if let Some(at) = file {
                files_seen[at] = self.compare(directory, name, &tracked.files[at].entries, worker)?;
            } else {
                self.untracked_file(directory, bytes.as_bstr(), kind, worker);
            }
            Ok(Continue::Yes)
        })?;
        for name in untracked {
            self.untracked_directory(directory, name.as_bstr(), worker)?;
        }
        for (file, _) in tracked.files.iter().zip(files_seen).filter(|(_, seen)| !seen) {
            self.missing(&file.entries, worker);
        }
        let mut tasks = Vec::new();
        for (below, seen) in tracked.directories.iter().zip(directories_seen) {
            if seen {
                tasks.push(task(directory, below));
            } else {
                self.missing(&below.entries, worker);
            }
        }
        Ok(tasks)
    }

    /// Looks at what is tracked, and at nothing else. Gives the directories to visit next.
    pub(super) fn look_up(
        &self,
        directory: &Arc<Directory>,
        tracked: &Tracked<'a>,
        worker: &mut Worker<'a>,
    ) -> Result<Vec<Task>, Error> {
        let mut terminated = Vec::new();
        for file in &tracked.files {
            check_cancelled(self.cancel)?;
            terminated.clear();
            terminated.extend_from_slice(file.name);
            terminated.push(0);
            let present = match CStr::from_bytes_with_nul(&terminated) {
                Ok(name) => self.compare(directory, name, &file.entries, worker)?,
                Err(_) => false,
            };
            if !present {
                self.missing(&file.entries, worker);
            }
        }
        Ok(tracked
            .directories
            .iter()
            .map(|below| task(directory, below))
            .collect())
    }

    /// Reports the entries of a path, or of a whole directory, that are not on disk.
    pub(super) fn missing(&self, entries: &Range<usize>, worker: &mut Worker<'a>) {
        let same_path = |one: &Entry, other: &Entry| one.path(self.index) == other.path(self.index);
        for group in self.index.entries()[entries.clone()].chunk_by(same_path) {
            let path = group[0].path(self.index);
            match conflict(group) {
                Some(conflict) => worker.findings.conflicted.push((path.to_owned(), conflict)),
                None if Comparison::may_be_absent(&group[0]) => {}
                None => worker.findings.deleted.push(path.to_owned()),
            }
        }
    }

    /// Compares a path of the index with what is on disk. False when nothing is there that could be it.
    fn compare(
        &self,
        directory: &Directory,
        name: &CStr,
        entries: &Range<usize>,
        worker: &mut Worker<'a>,
    ) -> Result<bool, Error> {
        let entry = &self.index.entries()[entries.start];
        let path = entry.path(self.index);
        if let Some(conflict) = conflict(&self.index.entries()[entries.clone()]) {
            worker.findings.conflicted.push((path.to_owned(), conflict));
            return Ok(true);
        }
        let stat = match rustix::fs::statat(directory.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            // What is closed to us is taken to be unchanged, as git takes it.
            Err(Errno::ACCESS | Errno::PERM) => return Ok(true),
            Err(errno) => {
                return Err(Error::ReadFile {
                    path: display_path(path),
                    source: errno.into(),
                });
            }
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            if self.is_submodule(entries) {
                self.compare_submodule(entries, worker);
                return Ok(true);
            }
            return Ok(false);
        }
        // Whoever writes to it by its other name is seen there, if anywhere.
        worker.record.is_silent |= stat.st_nlink > 1;
        let change = self
            .comparison
            .change(entry, path, &stat, (directory, name), &mut worker.contents)?;
        match change {
            Some(Change::Modified) => worker.findings.modified.push(path.to_owned()),
            Some(Change::TypeChanged) => worker.findings.type_changed.push(path.to_owned()),
            Some(Change::Added) => worker.findings.added.push(path.to_owned()),
            None => {}
        }
        Ok(true)
    }

    fn is_submodule(&self, entries: &Range<usize>) -> bool {
        self.index.entries()[entries.start].mode.is_submodule()
    }

    fn compare_submodule(&self, entries: &Range<usize>, worker: &mut Worker<'a>) {
        let entry = &self.index.entries()[entries.start];
        let path = entry.path(self.index);
        // Its head is in a directory that nobody watches.
        worker.record.is_silent = true;
        if let Some(conflict) = conflict(&self.index.entries()[entries.clone()]) {
            worker.findings.conflicted.push((path.to_owned(), conflict));
        } else if submodule::has_other_commit(self.worktree, path, &entry.id) {
            worker.findings.modified.push(path.to_owned());
        }
    }
}

fn task(parent: &Arc<Directory>, below: &Subdirectory<'_>) -> Task {
    Task::Below {
        parent: Arc::clone(parent),
        name: below.name.to_owned(),
        entries: below.entries.clone(),
    }
}
