//! Removing a directory with all that is in it, however deep it goes and whatever it is called.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;

/// How deep directories are gone into: each holds a descriptor. What lies deeper is moved up first.
const MAX_DEPTH: usize = 100;

/// Removes a directory of ours. One that is not there is no failure.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let top = match opened(CWD, path) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let mut removal = Removal { top, moved: 0 };
    loop {
        let before = removal.moved;
        let top = removal.top.try_clone()?;
        removal.empty(&top, 0)?;
        if removal.moved == before {
            return Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?);
        }
    }
}

struct Removal {
    top: OwnedFd,
    /// How many directories were moved up; their names are made of it.
    moved: u64,
}

impl Removal {
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<()> {
        for name in names(directory)? {
            match unlinkat(directory, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if depth == MAX_DEPTH {
                self.move_up(directory, &name)?;
                continue;
            }
            let child = opened(directory, &name)?;
            self.empty(&child, depth + 1)?;
            unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    /// Puts a directory that lies too deep to the top. What has its new name there, if it is no empty directory, is in
    /// the way, so the next one is tried.
    fn move_up(&mut self, directory: &OwnedFd, name: &CString) -> io::Result<()> {
        loop {
            self.moved += 1;
            let there = format!(".removed-{}", self.moved);
            match renameat(directory, name, &self.top, there) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                outcome => return Ok(outcome?),
            }
        }
    }
}

/// What is in a directory. All of it is read first: entries come and go while they are removed.
pub(super) fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Opens a directory that is to be emptied, also one that is closed to its owner.
fn opened(parent: impl std::os::fd::AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(&parent, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let closed = openat(&parent, name, flags | OFlags::PATH, Mode::empty())?;
            rustix::fs::chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            openat(&parent, name, flags | OFlags::RDONLY, Mode::empty())?
        }
        outcome => outcome?,
    };
    // Where its owner may not write, nothing could be taken out of it. Root need not care.
    let _ = fchmod(&directory, Mode::RWXU);
    Ok(directory)
}
