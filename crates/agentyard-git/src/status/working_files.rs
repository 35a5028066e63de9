//! Files of the working tree as they would be committed.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::index::entry::Mode;
use gix::objs::tree::EntryKind;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::content::hash;
use super::conversion::Conversion;
use super::directory::Directory;
use super::submodule;
use crate::descriptor::{as_path, open_child_file};
use crate::{Confined, Error, Repository, display_path};

/// What is at a path.
pub(crate) enum WorkingFile {
    /// Nothing that git would take: gone, a pipe, a directory, or closed to us.
    Nothing,
    Content(EntryKind, Vec<u8>),
    /// Too large to be held; what it would be called. Or a submodule, and what is checked out in it.
    Known(EntryKind, gix::ObjectId),
}

/// Reads files of a working tree, as `git add` would. Filters are not run, as everywhere.
pub(crate) struct WorkingFiles<'a> {
    worktree: &'a Confined,
    objects: &'a gix::Repository,
    index: &'a gix::index::State,
    conversion: Conversion<'a>,
    executable_bit: bool,
    symlinks: bool,
    /// The directory used last. Files come by directory, mostly.
    last: Option<(BString, Arc<Directory>)>,
    cancel: &'a AtomicBool,
}

impl<'a> WorkingFiles<'a> {
    pub(crate) fn new(
        repository: &Repository,
        worktree: &'a Confined,
        objects: &'a gix::Repository,
        index: &'a gix::index::State,
        cancel: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let config = objects.config_snapshot();
        let setting = |key| config.boolean(key).unwrap_or(true);
        Ok(Self {
            worktree,
            objects,
            index,
            conversion: Conversion::new(repository, objects, index)?,
            executable_bit: setting("core.fileMode"),
            symlinks: setting("core.symlinks"),
            last: None,
            cancel,
        })
    }

    /// What is at a path. Of more than `limit` bytes only the name is worked out.
    pub(crate) fn read(&mut self, path: &BStr, limit: u64) -> Result<WorkingFile, Error> {
        super::check_cancelled(self.cancel)?;
        let failed = |errno: Errno| Error::ReadFile {
            path: display_path(path),
            source: errno.into(),
        };
        let directory = match self.directory(path) {
            Ok(directory) => directory,
            Err(errno) if is_absent(errno) => return Ok(WorkingFile::Nothing),
            Err(errno) => return Err(failed(errno)),
        };
        let name = as_path(&path[directory.prefix.len()..]);
        let stat = match rustix::fs::statat(directory.descriptor(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(errno) if is_absent(errno) => return Ok(WorkingFile::Nothing),
            Err(errno) => return Err(failed(errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(&directory, path, &stat, limit),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(directory.descriptor(), name, Vec::new());
                Ok(target.map_or(WorkingFile::Nothing, |target| {
                    WorkingFile::Content(EntryKind::Link, target.into_bytes())
                }))
            }
            FileType::Directory => {
                let commit = submodule::checked_out_commit(self.worktree, path);
                Ok(commit.map_or(WorkingFile::Nothing, |commit| {
                    WorkingFile::Known(EntryKind::Commit, commit)
                }))
            }
            _ => Ok(WorkingFile::Nothing),
        }
    }

    fn file(
        &mut self,
        directory: &Directory,
        path: &BStr,
        stat: &Stat,
        limit: u64,
    ) -> Result<WorkingFile, Error> {
        let read_error = |source| Error::ReadFile {
            path: display_path(path),
            source,
        };
        let name = &path[directory.prefix.len()..];
        let file = match open_child_file(directory.descriptor(), name) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(WorkingFile::Nothing),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(WorkingFile::Nothing);
            }
            Err(error) => return Err(read_error(error)),
        };
        let entry = self.index.entry_by_path(path);
        let kind = self.kind(entry.map(|entry| entry.mode), stat);
        let size = file.metadata().map_err(read_error)?.len();
        let hash_kind = self.objects.object_hash();
        if size > limit {
            // A file that shrank while it was read cannot be hashed; the next time it can.
            let id = hash(hash_kind, file, size, self.cancel);
            return Ok(id.map_or(WorkingFile::Nothing, |id| WorkingFile::Known(kind, id)));
        }
        if kind != EntryKind::Link {
            self.conversion.enter(directory, self.objects)?;
            let expected = entry.map_or(hash_kind.null(), |entry| entry.id);
            let again = file.try_clone().map_err(read_error)?;
            if let Ok(ToGitOutcome::Buffer(content)) =
                self.conversion.convert(file, path, &expected, self.objects)
            {
                return Ok(WorkingFile::Content(kind, content.to_vec()));
            }
            return read_whole(again, kind, limit).map_err(read_error);
        }
        read_whole(file, kind, limit).map_err(read_error)
    }

    /// What git would take a file for. Where the file system cannot tell, it stays what it was.
    fn kind(&self, known: Option<Mode>, stat: &Stat) -> EntryKind {
        let is_executable = match known {
            Some(Mode::SYMLINK) if !self.symlinks => return EntryKind::Link,
            known if !self.executable_bit => known == Some(Mode::FILE_EXECUTABLE),
            _ => stat.st_mode & 0o100 != 0,
        };
        if is_executable {
            EntryKind::BlobExecutable
        } else {
            EntryKind::Blob
        }
    }

    fn directory(&mut self, path: &BStr) -> Result<Arc<Directory>, Errno> {
        let prefix = path[..path.rfind_byte(b'/').map_or(0, |slash| slash + 1)].as_bstr();
        match &self.last {
            Some((last, directory)) if last == prefix => Ok(Arc::clone(directory)),
            _ => {
                let directory = Arc::new(Directory::at(self.worktree, prefix)?);
                self.last = Some((prefix.to_owned(), Arc::clone(&directory)));
                Ok(directory)
            }
        }
    }
}

/// The content, from its beginning, whatever was read of it before.
fn read_whole(mut file: std::fs::File, kind: EntryKind, limit: u64) -> std::io::Result<WorkingFile> {
    use std::io::Seek as _;
    file.rewind()?;
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content)?;
    Ok(WorkingFile::Content(kind, content))
}

/// Gone, or not to be reached by names that are directories, or closed to us.
fn is_absent(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM
    )
}
