//! Where a path of the tree leads, one step after the other.

use std::sync::Arc;

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::{FileTree, guard, shown_in};
use crate::descriptor::as_path;
use crate::status::Directory;
use crate::{Error, RepositoryPath};

/// What a path leads to, reached by descriptors all the way.
pub(super) enum Spot {
    Directory(Arc<Directory>),
    /// A file, pipe, socket or device.
    Entry(Entry),
    /// Nothing, and which names are missing in the last directory that there is.
    Absent {
        directory: Arc<Directory>,
        names: Vec<BString>,
    },
}

/// An entry that is neither a directory nor a link.
pub(super) struct Entry {
    pub(super) directory: Arc<Directory>,
    pub(super) name: BString,
    pub(super) stat: Stat,
}

/// As many links as the kernel itself would follow.
const MAX_LINKS: usize = 40;

/// How deep a path may lead. Each directory on the way is held open.
const MAX_DEPTH: usize = 200;

impl Entry {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    pub(super) fn is_executable(&self) -> bool {
        self.stat.st_mode & 0o100 != 0
    }
}

/// Follows a path from the top of the tree. Links are followed as long as they stay in it.
pub(super) fn look_up(tree: &FileTree, top: &Arc<Directory>, path: &RepositoryPath) -> Result<Spot, Error> {
    let mut lookup = Lookup {
        tree,
        top,
        path,
        here: Arc::clone(top),
        ahead: Vec::new(),
        links: 0,
    };
    lookup.put_ahead(path.as_path().as_os_str().as_encoded_bytes());
    lookup.follow()
}

struct Lookup<'a> {
    tree: &'a FileTree,
    top: &'a Arc<Directory>,
    path: &'a RepositoryPath,
    here: Arc<Directory>,
    /// The names that are still to be followed, the next one last.
    ahead: Vec<BString>,
    links: usize,
}

impl Lookup<'_> {
    fn follow(mut self) -> Result<Spot, Error> {
        while let Some(name) = self.ahead.pop() {
            match name.as_bytes() {
                b"." => {}
                b".." => self.go_up()?,
                _ if guard::is_git_name(name.as_bstr()) => return Err(guard::refusal(&self.path.shown())),
                _ => {
                    if let Some(spot) = self.step(name)? {
                        return Ok(spot);
                    }
                }
            }
        }
        Ok(Spot::Directory(self.here))
    }

    fn go_up(&mut self) -> Result<(), Error> {
        if Arc::ptr_eq(&self.here, self.top) {
            return Err(self.escape());
        }
        self.here = self.here.parent.clone().ok_or_else(|| self.escape())?;
        Ok(())
    }

    /// Goes on to an entry of the directory where the lookup is; there is something to answer once it is no directory.
    fn step(&mut self, name: BString) -> Result<Option<Spot>, Error> {
        let stat = match rustix::fs::statat(self.here.descriptor(), &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.absent(name).map(Some),
            Err(errno) => return Err(self.failed(errno)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                self.follow_link(name.as_bstr())?;
                Ok(None)
            }
            FileType::Directory => {
                self.enter(name.as_bstr())?;
                Ok(None)
            }
            _ if self.ahead.is_empty() => Ok(Some(Spot::Entry(Entry {
                directory: Arc::clone(&self.here),
                name,
                stat,
            }))),
            _ => Err(Error::NotADirectory {
                path: shown_in(self.top, &self.here, name.as_bstr()),
            }),
        }
    }

    fn enter(&mut self, name: &BStr) -> Result<(), Error> {
        if self.here.depth() >= MAX_DEPTH {
            return Err(Error::invalid(
                format!("the path {}", self.path.shown()),
                "it is too deep",
            ));
        }
        let below = self.here.child(name).map_err(|errno| self.failed(errno))?;
        if guard::is_closed(self.tree.confined.roots(), &below) {
            return Err(guard::refusal(&self.path.shown()));
        }
        self.here = Arc::new(below);
        Ok(())
    }

    fn follow_link(&mut self, name: &BStr) -> Result<(), Error> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(self.failed(Errno::LOOP));
        }
        let target = rustix::fs::readlinkat(self.here.descriptor(), name.as_bytes(), Vec::new())
            .map_err(|errno| self.failed(errno))?
            .into_bytes();
        let target = if target.starts_with(b"/") {
            let inside = as_path(&target)
                .strip_prefix(self.tree.path())
                .map_err(|_| self.escape())?;
            self.here = Arc::clone(self.top);
            inside.as_os_str().as_encoded_bytes().to_owned()
        } else {
            target
        };
        self.put_ahead(&target);
        Ok(())
    }

    fn put_ahead(&mut self, path: &[u8]) {
        let names = path.rsplit(|&byte| byte == b'/').filter(|name| !name.is_empty());
        self.ahead.extend(names.map(BString::from));
    }

    /// Nothing has this name. Names behind it can only be plain: what is not there has no directory above.
    fn absent(&self, name: BString) -> Result<Spot, Error> {
        let mut names = vec![name];
        for name in self.ahead.iter().rev().filter(|name| *name != ".") {
            if *name == ".." {
                return Err(self.failed(Errno::NOENT));
            }
            if guard::is_git_name(name.as_bstr()) {
                return Err(guard::refusal(&self.path.shown()));
            }
            names.push(name.clone());
        }
        Ok(Spot::Absent {
            directory: Arc::clone(&self.here),
            names,
        })
    }

    fn escape(&self) -> Error {
        Error::refused(
            format!(
                "{} is refused: a link on the way leads out of the tree",
                self.path.shown()
            ),
            "name a file inside the tree",
        )
    }

    fn failed(&self, errno: Errno) -> Error {
        match errno {
            Errno::NOENT => Error::NotFound {
                path: self.path.shown(),
            },
            Errno::NAMETOOLONG => Error::invalid(format!("the path {}", self.path.shown()), "it is too long"),
            Errno::LOOP | Errno::NOTDIR => Error::state(
                format!(
                    "{} could not be followed: its links go round, or are changing",
                    self.path.shown()
                ),
                "list the directory and try again",
            ),
            errno => super::place::failed("opened", &self.path.shown(), errno.into()),
        }
    }
}
