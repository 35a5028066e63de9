//! A file that has its content before it has its name.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use gix::bstr::{BStr, ByteSlice as _};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::descriptor::magic_path;
use crate::status::Directory;

/// A new file of a directory. It is gone when it is dropped before it was named.
///
/// Where the file system can, it has no name at all until it is whole, so that even a server that is killed leaves
/// nothing behind.
pub(super) struct NewFile {
    directory: Arc<Directory>,
    file: File,
    /// The name that it has for the time being, where it must have one.
    temporary: Option<String>,
}

impl NewFile {
    pub(super) fn make(directory: &Arc<Directory>) -> Result<Self, Errno> {
        let access = OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let unnamed = rustix::fs::openat(directory.descriptor(), ".", access | OFlags::TMPFILE, mode);
        let (file, temporary): (OwnedFd, _) = match unnamed {
            Ok(file) => (file, None),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let name = temporary_name()?;
                let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let file = rustix::fs::openat(directory.descriptor(), &name, flags, mode)?;
                (file, Some(name))
            }
            Err(errno) => return Err(errno),
        };
        Ok(Self {
            directory: Arc::clone(directory),
            file: File::from(file),
            temporary,
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it a name that nothing else has.
    pub(super) fn name(mut self, name: &BStr) -> Result<(), Errno> {
        let directory = self.directory.descriptor();
        match &self.temporary {
            None => self.link(name.as_bytes()),
            Some(temporary) => {
                let moved = rustix::fs::renameat_with(
                    directory,
                    temporary,
                    directory,
                    name.as_bytes(),
                    RenameFlags::NOREPLACE,
                );
                match moved {
                    // Not every file system can: a second name does the same, and the first one goes.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.link(name.as_bytes()),
                    Ok(()) => {
                        self.temporary = None;
                        Ok(())
                    }
                    Err(errno) => Err(errno),
                }
            }
        }
    }

    /// Puts it in the place of what has this name.
    pub(super) fn replace(mut self, name: &BStr) -> Result<(), Errno> {
        let temporary = match self.temporary.take() {
            Some(temporary) => temporary,
            None => {
                let temporary = temporary_name()?;
                self.link(temporary.as_bytes())?;
                temporary
            }
        };
        let directory = self.directory.descriptor();
        let moved = rustix::fs::renameat(directory, &temporary, directory, name.as_bytes());
        if moved.is_err() {
            self.temporary = Some(temporary);
        }
        moved
    }

    fn link(&self, name: &[u8]) -> Result<(), Errno> {
        let directory = self.directory.descriptor();
        rustix::fs::linkat(
            CWD,
            magic_path(&self.file),
            directory,
            name,
            AtFlags::SYMLINK_FOLLOW,
        )
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(self.directory.descriptor(), temporary, AtFlags::empty());
        }
    }
}

fn temporary_name() -> Result<String, Errno> {
    let number = getrandom::u64().map_err(|_| Errno::IO)?;
    Ok(format!(".agentyard-{number:016x}.tmp"))
}
