//! Removing a directory with all that is in it, however deep it goes and whatever it is called.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fchmod, openat, renameat, unlinkat};
use rustix::io::Errno;

/// How deep directories are gone into: each holds a descriptor. What lies deeper is moved up first.
const MAX_DEPTH: usize = 100;

/// How many names of a directory are read at once: how many there are was for others to decide.
const BATCH: usize = 8 * 1024;

/// Removes a directory of ours. One that is not there is no failure.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    remove_in_batches(path, BATCH)
}

fn remove_in_batches(path: &Path, batch: usize) -> io::Result<()> {
    let top = match opened(CWD, path) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let mut removal = Removal {
        top: top.try_clone()?,
        batch,
        moved: 0,
    };
    removal.empty(&top, 0)?;
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

struct Removal {
    top: OwnedFd,
    /// How many names are read at once.
    batch: usize,
    /// How many directories were moved up; their names are made of it.
    moved: u64,
}

impl Removal {
    /// Removes what is in a directory. At the top that includes what is moved up meanwhile.
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<()> {
        loop {
            let names = names(directory, self.batch)?;
            let is_done = depth > 0 && names.len() < self.batch;
            let mut is_stuck = true;
            for name in names {
                match unlinkat(directory, &name, AtFlags::empty()) {
                    Err(Errno::NOENT) => continue,
                    Err(Errno::ISDIR) if depth == MAX_DEPTH => self.move_up(directory, &name)?,
                    Err(Errno::ISDIR) => {
                        let child = opened(directory, &name)?;
                        self.empty(&child, depth + 1)?;
                        unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
                    }
                    outcome => outcome?,
                }
                is_stuck = false;
            }
            // Where nothing was there to be removed, nothing will be the next time.
            if is_done || is_stuck {
                return Ok(());
            }
        }
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

/// Some of what is in a directory, read before any of it is removed: entries come and go meanwhile.
fn names(directory: &OwnedFd, most: usize) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
        if names.len() == most {
            break;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_is_emptied_however_much_and_however_deep_it_holds() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        let mut deep = top.join("deep");
        for _ in 0..3 * MAX_DEPTH {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        for number in 0..10 {
            fs::write(deep.join(format!("file-{number}")), "").unwrap();
            fs::create_dir(top.join(format!("directory-{number}"))).unwrap();
            fs::write(top.join(format!("directory-{number}/file")), "").unwrap();
        }
        remove_in_batches(&top, 3).unwrap();
        assert!(!top.exists());
        remove_in_batches(&top, 3).unwrap();
    }
}
