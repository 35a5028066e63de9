//! The index as it was, put back when what was begun with it fails.

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::keep::INDEX_LIMIT;
use crate::descriptor::read_child_file;
use crate::{Error, Work};

/// Holds on to the index while it is changed. git replaces the file and never writes into it, so a second name
/// for the old one is all it takes.
pub(crate) struct SavedIndex<'a> {
    work: &'a Work<'a>,
    name: String,
    /// There was an index.
    existed: bool,
}

const INDEX: &str = "index";
/// While this exists, git leaves the index alone; moving it over the index is how git changes that, too.
const LOCK: &str = "index.lock";

impl<'a> SavedIndex<'a> {
    pub(crate) fn new(work: &'a Work<'a>) -> Result<Self, Error> {
        let directory = work.repository().confined_git_dir().directory();
        let name = super::keep::scratch_name();
        let existed = match rustix::fs::linkat(directory, INDEX, directory, &name, AtFlags::empty()) {
            Ok(()) => true,
            Err(Errno::NOENT) => false,
            // A file system on which a file has one name only.
            Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS) => {
                let content = read_child_file(directory, INDEX.as_bytes(), INDEX_LIMIT);
                let copied = content.and_then(|content| {
                    let path = work.repository().git_dir().join(&name);
                    content.map(|content| std::fs::write(path, content)).transpose()
                });
                copied.map_err(|source| failed(work, source))?.is_some()
            }
            Err(errno) => return Err(failed(work, errno.into())),
        };
        Ok(Self { work, name, existed })
    }

    /// Does something, and puts the index back when that fails. Should this fail in turn, the error says so.
    pub(crate) fn or_restored<T>(
        work: &'a Work<'a>,
        change: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let saved = Self::new(work)?;
        change().map_err(|error| match saved.restore() {
            Ok(()) => error,
            Err(_) => Error::state(
                format!("{error}; what was staged for it could not be taken back, for the index is locked"),
                "look at what is staged with git_status; git_reset with `paths` unstages it",
            ),
        })
    }

    fn restore(&self) -> Result<(), Errno> {
        let directory = self.work.repository().confined_git_dir().directory();
        if self.is_unchanged() {
            return Ok(());
        }
        if self.existed {
            rustix::fs::renameat_with(directory, &self.name, directory, LOCK, RenameFlags::NOREPLACE)?;
            return rustix::fs::renameat(directory, LOCK, directory, INDEX);
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(directory, LOCK, flags, Mode::from_raw_mode(0o600))?;
        let removed = rustix::fs::unlinkat(directory, INDEX, AtFlags::empty());
        rustix::fs::unlinkat(directory, LOCK, AtFlags::empty())?;
        removed
    }

    /// Whether the index is the file that was saved. Moving one name of a file over the other would do nothing,
    /// and leave the lock.
    fn is_unchanged(&self) -> bool {
        let directory = self.work.repository().confined_git_dir().directory();
        let number = |name: &str| {
            rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .ok()
                .map(|stat| (stat.st_dev, stat.st_ino))
        };
        number(INDEX) == number(&self.name)
    }
}

impl Drop for SavedIndex<'_> {
    fn drop(&mut self) {
        if self.existed {
            let directory = self.work.repository().confined_git_dir().directory();
            let _ = rustix::fs::unlinkat(directory, &self.name, AtFlags::empty());
        }
    }
}

fn failed(work: &Work<'_>, source: std::io::Error) -> Error {
    Error::ReadFile {
        path: format!("{}/index", work.repository().confined_git_dir().shown()),
        source,
    }
}
