//! Views whose files share their blocks with a base until they are changed.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::index::entry::{Mode as EntryMode, Stat};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::base::Base;
use super::index_stats::{directories, noted, read_index, renew_stats, write_index};
use super::layout::{failed, open_root};
use crate::descriptor::as_path;
use crate::{Confined, Error};

/// How the content of a file comes into its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// The blocks are shared.
    Blocks,
    /// They are copied: the file system of the tests may share none.
    #[cfg(test)]
    Nothing,
}

/// Copies a base, and makes an index that fits the copy: the base's, with what the kernel says about the new files.
/// They keep their times, so that none seems to be changed, and are known by their new inodes. Nothing is hashed.
pub(super) fn copy(
    base: &Base,
    tree: &Confined,
    registration: &Confined,
    sharing: Sharing,
    cancel: &AtomicBool,
) -> Result<(), Error> {
    let source = open_root(&base.tree())?;
    let mut index = read_index(&base.index(), &base.name.commit)?;
    for path in directories(&index) {
        rustix::fs::mkdirat(tree.directory(), as_path(path), Mode::from_raw_mode(0o777))
            .map_err(failed("made", &tree.path().join(as_path(path))))?;
    }
    let copying = Copying {
        source: &source,
        target: tree,
        sharing,
    };
    renew_stats(&mut index, cancel, |path, mode| {
        let copied = match mode {
            EntryMode::SYMLINK => copying.link(path),
            _ => copying.file(path),
        };
        copied.map_err(failed("copied", &tree.path().join(path)))
    })?;
    write_index(&index, registration, "index")
}

struct Copying<'a> {
    source: &'a Confined,
    target: &'a Confined,
    sharing: Sharing,
}

impl Copying<'_> {
    fn file(&self, path: &Path) -> io::Result<Stat> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source = rustix::fs::openat(self.source.directory(), path, flags, Mode::empty())?;
        let from = rustix::fs::fstat(&source)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(from.st_mode & 0o777);
        let target = rustix::fs::openat(self.target.directory(), path, flags, mode)?;
        match self.sharing {
            Sharing::Blocks => rustix::fs::ioctl_ficlone(&target, &source)?,
            #[cfg(test)]
            Sharing::Nothing => drop(io::copy(
                &mut std::fs::File::from(source),
                &mut std::fs::File::from(target.try_clone()?),
            )?),
        }
        rustix::fs::futimens(&target, &times(&from))?;
        Ok(noted(&rustix::fs::fstat(&target)?))
    }

    fn link(&self, path: &Path) -> io::Result<Stat> {
        let (source, target) = (self.source.directory(), self.target.directory());
        let from = rustix::fs::statat(source, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let leads_to = rustix::fs::readlinkat(source, path, Vec::new())?;
        rustix::fs::symlinkat(leads_to, target, path)?;
        rustix::fs::utimensat(target, path, &times(&from), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(noted(&rustix::fs::statat(
            target,
            path,
            AtFlags::SYMLINK_NOFOLLOW,
        )?))
    }
}

fn times(stat: &rustix::fs::Stat) -> Timestamps {
    let modified = Timespec {
        tv_sec: stat.st_mtime,
        tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
    };
    Timestamps {
        last_access: modified,
        last_modification: modified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::tests::Fixture;

    #[test]
    fn a_copy_has_the_files_of_the_base_and_an_index_that_fits() {
        let fixture = Fixture::new();
        let base = fixture.base();
        let tree = fixture.directory("copy");
        let registration = fixture.directory("registration");
        let go_on = AtomicBool::new(false);
        copy(&base, &tree, &registration, Sharing::Nothing, &go_on).unwrap();

        let at = |path: &str| tree.path().join(path);
        assert_eq!(
            std::fs::read_to_string(at("directory/deep/file")).unwrap(),
            "deep\n"
        );
        assert_eq!(std::fs::read_link(at("link")).unwrap(), Path::new("nowhere"));
        let mode = rustix::fs::stat(at("program")).unwrap().st_mode;
        assert_eq!(mode & 0o111, 0o111);
        let index = registration.path().join("index");
        assert_eq!(fixture.hashed_by_status(tree.path(), &index), (String::new(), 0));

        // What is changed is found, although it keeps its size.
        std::fs::write(at("directory/deep/file"), "DEEP\n").unwrap();
        // Git counts in seconds, of which none may have passed.
        let file = std::fs::File::options()
            .write(true)
            .open(at("directory/deep/file"))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let (changes, hashed) = fixture.hashed_by_status(tree.path(), &index);
        assert_eq!((changes.as_str(), hashed), (" M directory/deep/file\n", 1));
        assert_eq!(
            std::fs::read_to_string(base.tree().join("directory/deep/file")).unwrap(),
            "deep\n"
        );
    }

    #[test]
    fn a_cancelled_copy_ends() {
        let fixture = Fixture::new();
        let (tree, registration) = (fixture.directory("copy"), fixture.directory("registration"));
        let cancel = AtomicBool::new(true);
        let copied = copy(&fixture.base(), &tree, &registration, Sharing::Nothing, &cancel);
        assert!(matches!(copied, Err(Error::Cancelled)));
        assert!(!registration.path().join("index").exists());
    }
}
