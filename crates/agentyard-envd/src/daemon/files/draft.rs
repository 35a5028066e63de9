//! Files on their way: written beside their place under another name and put there when they are whole.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::faults::{fault, refused};
use super::metadata;
use crate::connect::Fault;

/// How many links are followed to where a file is to be, as the kernel would.
const MOST_LINKS: usize = 40;

/// How many names are tried that somebody has left behind.
const MOST_NAMES: usize = 1000;

/// With what the names of drafts begin.
const MARK: &str = ".agentyard-";

/// What becomes of a draft. It is in its name, so that whoever watches the directory knows that it is no change of
/// anything yet, and what it is in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A file that was not there.
    New,
    /// A file in the place of another.
    Over,
    /// Something from another file system.
    Moved,
}

impl Purpose {
    /// What the draft with this name is for; none if it is no draft.
    pub(super) fn of(name: &OsStr) -> Option<Self> {
        let (purpose, _) = name.to_str()?.strip_prefix(MARK)?.split_once('-')?;
        match purpose {
            "new" => Some(Self::New),
            "over" => Some(Self::Over),
            "moved" => Some(Self::Moved),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Over => "over",
            Self::Moved => "moved",
        }
    }
}

/// A name beside this place that nobody has, for which `make` makes something.
pub(super) fn beside<T>(
    place: &Path,
    purpose: Purpose,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for _ in 0..MOST_NAMES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{MARK}{}-{}-{number}", purpose.word(), std::process::id());
        let path = place.with_file_name(name);
        match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (path, made)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// A file that is being written. Unless it is put into its place, it is gone with this.
#[derive(Debug)]
pub(super) struct Draft {
    file: File,
    path: PathBuf,
    place: PathBuf,
    mode: Option<u32>,
    is_placed: bool,
}

impl Draft {
    /// Begins a file that is going to be there, and makes the directories above it.
    pub(super) fn begin(wanted: &Path) -> Result<Self, Fault> {
        let failed = |error: io::Error| fault("write", wanted, &error);
        if let Some(parent) = wanted.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let place = end_of_links(wanted).map_err(failed)?;
        let mode = match fs::symlink_metadata(&place) {
            Ok(there) if there.is_dir() => {
                return Err(refused("write", wanted, "it is a directory: name a file in it"));
            }
            Ok(there) if !there.is_file() => {
                return Err(refused(
                    "write",
                    wanted,
                    "it is a pipe, a socket or a device, and no file",
                ));
            }
            // Neither may a file run as its owner here, nor could it be made so.
            Ok(there) => Some(there.permissions().mode() & 0o1777),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let purpose = if mode.is_some() {
            Purpose::Over
        } else {
            Purpose::New
        };
        let (path, file) = beside(&place, purpose, |path| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o666).open(path)
        })
        .map_err(failed)?;
        Ok(Self {
            file,
            path,
            place,
            mode,
            is_placed: false,
        })
    }

    /// Adds to it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.file
            .write_all(bytes)
            .map_err(|error| fault("write", &self.place, &error))
    }

    /// Puts it into its place, with the mode of what was there, and tells what is kept of the metadata.
    pub(super) fn place(
        mut self,
        metadata: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let kept = self
            .finish(metadata)
            .map_err(|error| fault("write", &self.place, &error))?;
        self.is_placed = true;
        Ok(kept)
    }

    fn finish(&self, metadata: BTreeMap<String, String>) -> io::Result<BTreeMap<String, String>> {
        let kept = metadata::keep(&self.file, metadata)?;
        if let Some(mode) = self.mode {
            self.file.set_permissions(Permissions::from_mode(mode))?;
        }
        fs::rename(&self.path, &self.place)?;
        Ok(kept)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_placed {
            // It is in nobody's way: names that are taken are left out.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Where a file is that is written at this path: links are followed, also one that leads nowhere yet.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // It is no link, or not there.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::connect::Code;

    fn write(path: &Path, content: &[u8]) -> Result<(), Fault> {
        let mut draft = Draft::begin(path)?;
        draft.write(content)?;
        draft.place(BTreeMap::new()).map(drop)
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_draft_is_nothing_until_it_is_placed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        let mut draft = Draft::begin(&path).unwrap();
        draft.write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(draft);
        assert_eq!(names(directory.path()), ["file"]);
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(names(directory.path()), ["file"]);
    }

    #[test]
    fn directories_are_made_and_links_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(&root.join("a/b/file"), b"1").unwrap();
        symlink("a/b/file", root.join("link")).unwrap();
        symlink("a/later", root.join("dangling")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        write(&root.join("link"), b"2").unwrap();
        write(&root.join("dangling"), b"3").unwrap();
        assert_eq!(fs::read(root.join("a/b/file")).unwrap(), b"2");
        assert_eq!(fs::read(root.join("a/later")).unwrap(), b"3");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
        assert_eq!(
            write(&root.join("circle"), b"4").unwrap_err().code,
            Code::FailedPrecondition
        );
    }

    #[test]
    fn what_is_no_file_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), Path::new("/dev/null")] {
            assert_eq!(Draft::begin(path).unwrap_err().code, Code::InvalidArgument);
        }
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Draft::begin(&file.join("below")).is_err());
    }

    #[test]
    fn a_draft_is_known_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        for purpose in [Purpose::New, Purpose::Over, Purpose::Moved] {
            let (path, ()) = beside(&directory.path().join("file"), purpose, |path| {
                fs::create_dir(path)
            })
            .unwrap();
            assert_eq!(Purpose::of(path.file_name().unwrap()), Some(purpose));
        }
        assert_eq!(Purpose::of(OsStr::new(".agentyard-other-1")), None);
        assert_eq!(Purpose::of(OsStr::new("new-1")), None);
    }
}
