//! What root wrote into a mounted view is given to those who are to work there.
//!
//! They may own most of what is there already, and change it meanwhile. So everything is reached from a descriptor of
//! the view, without following a link or leaving the mount, and only what is open is given away: no name is looked up
//! twice. What differs is searched in the view's own layer, as the base belongs to them anyway; it is given away
//! through the mount, as the kernel wants nobody to change a layer behind its back.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, CWD, Dir, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::layout::{check_name, failed};
use super::{TreeOwner, Trees, mount};
use crate::Error;
use crate::descriptor::{as_path, open_child_directory, open_entry};
use crate::error::check_cancelled;
use crate::roots::shown;

/// The file at the top of a view that says where its repository is. It stays root's, under each of its names.
const GIT_FILE: &CStr = c".git";

/// The names of directories that wait to be looked into take so many bytes at most.
const MAX_WAITING: usize = 64 * 1024 * 1024;

impl Trees {
    /// Gives all in a mounted view to [`super::TreeSettings::owner`], and tells how much was not theirs: git and the
    /// file tools leave root's files. The top and its `.git` stay root's, but whoever owns the rest may make files at
    /// the top. To be called before something is run as that user.
    ///
    /// Nothing is done without an owner, nor for views that are copies or checkouts.
    pub fn hand_over(&self, key: &str, name: &str, cancel: &AtomicBool) -> Result<usize, Error> {
        check_name("repository", key)?;
        check_name("workspace", name)?;
        let own = self.layers_path(key, name);
        let Some(owner) = self.settings.owner.filter(|_| own.is_dir()) else {
            return Ok(0);
        };
        let path = self.view_path(key, name);
        let open = |path: &Path| {
            open_child_directory(CWD, path.as_os_str().as_encoded_bytes()).map_err(failed("opened", path))
        };
        let view = open(&path)?;
        if !mount::is_root_of_mount(&view) {
            return Err(Error::state(
                format!("{} is not mounted", shown(&path)),
                "use the workspace again, which mounts it",
            ));
        }
        owner.share_top(&view).map_err(failed("shared", &path))?;
        // A base that was made for somebody else has to be looked through, too: what is not theirs is copied.
        let base = self.base_of(key, name);
        let is_theirs = base.is_some_and(|base| base.name.owner == Some(owner));
        let searched = open(&if is_theirs {
            own.join("upper")
        } else {
            path.clone()
        })?;
        let git_file = rustix::fs::statat(&view, GIT_FILE, AtFlags::SYMLINK_NOFOLLOW).ok();
        HandOver {
            owner,
            searched,
            view,
            git_file,
            path: &path,
            cancel,
        }
        .all()
    }
}

struct HandOver<'a> {
    owner: TreeOwner,
    /// Where things are looked for that are not the owner's.
    searched: OwnedFd,
    /// Where they are given away.
    view: OwnedFd,
    git_file: Option<Stat>,
    /// For messages.
    path: &'a Path,
    cancel: &'a AtomicBool,
}

impl HandOver<'_> {
    fn all(&self) -> Result<usize, Error> {
        let mut given = 0;
        let mut waiting = Waiting::default();
        waiting.add(PathBuf::from("."));
        while let Some(directory) = waiting.next() {
            given += self.directory(&directory, &mut waiting)?;
        }
        Ok(given)
    }

    /// What is in one directory. Those in it are left for later.
    fn directory(&self, path: &Path, waiting: &mut Waiting) -> Result<usize, Error> {
        let failed = |errno| self.failed(path, errno);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let Some(directory) = there(open_entry(&self.searched, path, flags)).map_err(failed)? else {
            return Ok(0);
        };
        let mut given = 0;
        // Opened when it is needed, which mostly it is not.
        let mut in_view = None;
        for entry in Dir::read_from(&directory).map_err(failed)? {
            check_cancelled(self.cancel)?;
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name == c"." || name == c".." || name == GIT_FILE && path == Path::new(".") {
                continue;
            }
            let stat = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
            let Some(stat) = there(stat).map_err(failed)?.filter(|stat| !is_whiteout(stat)) else {
                continue;
            };
            if !self.owner.has(&stat) {
                if in_view.is_none() {
                    let flags = OFlags::PATH | OFlags::DIRECTORY;
                    in_view = there(open_entry(&self.view, path, flags)).map_err(failed)?;
                }
                let given_now = in_view.as_ref().map(|directory| self.give(directory, name));
                given += usize::from(given_now.transpose().map_err(failed)?.unwrap_or(false));
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                waiting.add(path.join(as_path(name.to_bytes())));
                self.check_count(waiting)?;
            }
        }
        Ok(given)
    }

    /// Whether it was given away: it may be gone meanwhile, or something else.
    fn give(&self, directory: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
        let opened = open_entry(directory, as_path(name.to_bytes()), OFlags::PATH);
        let Some(entry) = there(opened)? else {
            return Ok(false);
        };
        let stat = rustix::fs::fstat(&entry)?;
        let is_git_file = self
            .git_file
            .as_ref()
            .is_some_and(|git| (git.st_dev, git.st_ino) == (stat.st_dev, stat.st_ino));
        if is_git_file || self.owner.has(&stat) {
            return Ok(false);
        }
        self.owner.take(&entry)?;
        Ok(true)
    }

    fn check_count(&self, waiting: &Waiting) -> Result<(), Error> {
        if waiting.bytes <= MAX_WAITING {
            return Ok(());
        }
        Err(Error::state(
            format!(
                "{} has too many directories to be looked through",
                shown(self.path)
            ),
            "remove those that are not needed",
        ))
    }

    fn failed(&self, directory: &Path, errno: Errno) -> Error {
        let directory = self.path.join(directory.strip_prefix(".").unwrap_or(directory));
        failed("given to the user of sandboxes", &directory)(errno)
    }
}

/// Directories that wait to be looked into, last first: so few wait at a time.
#[derive(Default)]
struct Waiting {
    paths: Vec<PathBuf>,
    bytes: usize,
}

impl Waiting {
    fn add(&mut self, path: PathBuf) {
        self.bytes += path.as_os_str().len();
        self.paths.push(path);
    }

    fn next(&mut self) -> Option<PathBuf> {
        let path = self.paths.pop()?;
        self.bytes -= path.as_os_str().len();
        Some(path)
    }
}

/// Nothing for what has gone, has become something else, is mounted there, or lies deeper than a path can be long.
fn there<T>(outcome: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// How a layer says that something of the base is gone.
fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}
