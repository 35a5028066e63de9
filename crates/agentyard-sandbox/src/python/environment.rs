//! What the directory of an environment says about itself. Anybody may have filled it: it is read by descriptor, and no
//! link is followed out of it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use rustix::io::Errno;

/// How much of `pyvenv.cfg` is read.
const MAX_SETTINGS: u64 = 16 << 10;

/// Whether there is an interpreter in an environment. It may be a link that leads anywhere: that is not looked at.
#[must_use]
pub fn has_interpreter(environment: BorrowedFd<'_>) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(environment, "bin", flags, Mode::empty(), resolve)
        .and_then(|programs| statat(programs, "python", AtFlags::SYMLINK_NOFOLLOW))
        .is_ok_and(|found| {
            matches!(
                FileType::from_raw_mode(found.st_mode),
                FileType::RegularFile | FileType::Symlink
            )
        })
}

/// In which directory the interpreter was with which a virtual environment was made, by its own account; nothing when
/// it is no virtual environment.
///
/// # Errors
/// When it cannot be read.
pub fn made_with(environment: BorrowedFd<'_>) -> io::Result<Option<PathBuf>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = match openat2(environment, "pyvenv.cfg", flags, Mode::empty(), resolve) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.take(MAX_SETTINGS).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let home = text.lines().filter_map(|line| line.split_once('='));
    let mut home = home.filter(|(key, _)| key.trim() == "home");
    Ok(home.next().map(|(_, value)| Path::new(value.trim()).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_environment_says_with_what_it_was_made_and_links_lead_nowhere() {
        let (environment, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = environment.path();
        let directory = File::open(path).unwrap();
        assert_eq!(made_with(directory.as_fd()).unwrap(), None);
        assert!(!has_interpreter(directory.as_fd()));

        fs::write(
            path.join("pyvenv.cfg"),
            "home = /opt/python/bin\nversion = 3.12.1\n",
        )
        .unwrap();
        fs::create_dir(path.join("bin")).unwrap();
        symlink("/nowhere/python3", path.join("bin/python")).unwrap();
        assert_eq!(
            made_with(directory.as_fd()).unwrap(),
            Some("/opt/python/bin".into())
        );
        assert!(has_interpreter(directory.as_fd()));

        fs::rename(path.join("pyvenv.cfg"), elsewhere.path().join("pyvenv.cfg")).unwrap();
        fs::rename(path.join("bin"), elsewhere.path().join("bin")).unwrap();
        symlink(elsewhere.path().join("pyvenv.cfg"), path.join("pyvenv.cfg")).unwrap();
        symlink(elsewhere.path().join("bin"), path.join("bin")).unwrap();
        assert_eq!(made_with(directory.as_fd()).unwrap(), None);
        assert!(!has_interpreter(directory.as_fd()));

        fs::remove_file(path.join("pyvenv.cfg")).unwrap();
        rustix::fs::mkfifoat(&directory, "pyvenv.cfg", Mode::RUSR).unwrap();
        assert_eq!(made_with(directory.as_fd()).unwrap(), None);
    }
}
