//! What is in the working tree and not in the index.

use std::sync::Arc;

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::check_cancelled;
use super::directory::{Continue, Directory};
use super::scan::{Scan, Worker};
use super::submodule;
use crate::{Error, display_path};

/// What is in a directory without tracked files, the strongest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    /// No file at all; git does not see empty directories.
    Nothing,
    Ignored,
    Untracked,
}

/// Deeper directories are taken to hold something without looking. git's own paths end at 4096 bytes.
const MAX_DEPTH: usize = 512;

impl<'a> Scan<'a> {
    pub(super) fn untracked_file(
        &self,
        directory: &Directory,
        name: &BStr,
        kind: FileType,
        worker: &mut Worker<'a>,
    ) {
        if !is_visible_file(kind) {
            return;
        }
        let path = directory.path_of(name);
        if self
            .excludes
            .is_excluded(directory, path.as_bstr(), false, &self.sources(worker))
        {
            self.ignored(path, worker);
        } else {
            self.untracked(path, worker);
        }
    }

    /// Reports a directory without tracked files as one: like git, not what is in it.
    pub(super) fn untracked_directory(
        &self,
        parent: &Arc<Directory>,
        name: &BStr,
        worker: &mut Worker<'a>,
    ) -> Result<(), Error> {
        let mut path = parent.path_of(name);
        let excluded = self
            .excludes
            .is_excluded(parent, path.as_bstr(), true, &self.sources(worker));
        let content = self.content(parent, name, excluded, worker)?;
        path.push(b'/');
        match content {
            Content::Untracked => self.untracked(path, worker),
            Content::Ignored => self.ignored(path, worker),
            Content::Nothing => {}
        }
        Ok(())
    }

    /// Looks into a directory without tracked files, no further than needed to tell what is in it.
    fn content(
        &self,
        parent: &Arc<Directory>,
        name: &BStr,
        excluded: bool,
        worker: &mut Worker<'a>,
    ) -> Result<Content, Error> {
        check_cancelled(self.cancel)?;
        // What is ignored as a whole is of interest only to those who asked.
        if excluded && !self.options.ignored {
            return Ok(Content::Ignored);
        }
        let whole = if excluded {
            Content::Ignored
        } else {
            Content::Untracked
        };
        if parent.depth() >= MAX_DEPTH {
            return Ok(whole);
        }
        let directory = match parent.child(name) {
            Ok(directory) => Arc::new(directory),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM) => {
                return Ok(Content::Nothing);
            }
            Err(errno) => {
                return Err(Error::ReadFile {
                    path: display_path(parent.path_of(name).as_bstr()),
                    source: errno.into(),
                });
            }
        };
        self.watch_untracked(&directory, worker);
        if submodule::is_repository(&directory, self.worktree) {
            return Ok(whole);
        }
        let ignored_before = worker.findings.ignored.len();
        let mut content = Content::Nothing;
        let mut below = Vec::new();
        directory.list(|name, kind| {
            check_cancelled(self.cancel)?;
            if kind == FileType::Directory {
                below.push(BString::from(name.to_bytes()));
                return Ok(Continue::Yes);
            }
            if !is_visible_file(kind) {
                return Ok(Continue::Yes);
            }
            let path = directory.path_of(name.to_bytes());
            let of_file = if excluded
                || self
                    .excludes
                    .is_excluded(&directory, path.as_bstr(), false, &self.sources(worker))
            {
                self.ignored(path, worker);
                Content::Ignored
            } else {
                Content::Untracked
            };
            content = content.max(of_file);
            Ok(if self.is_settled(content, excluded) {
                Continue::No
            } else {
                Continue::Yes
            })
        })?;
        for name in below {
            if self.is_settled(content, excluded) {
                break;
            }
            let mut path = directory.path_of(&name);
            let excluded_below = excluded
                || self
                    .excludes
                    .is_excluded(&directory, path.as_bstr(), true, &self.sources(worker));
            let of_directory = self.content(&directory, name.as_bstr(), excluded_below, worker)?;
            if of_directory == Content::Ignored {
                path.push(b'/');
                self.ignored(path, worker);
            }
            content = content.max(of_directory);
        }
        // A directory with nothing but ignored files is reported as one, too.
        if content == Content::Ignored {
            worker.findings.ignored.truncate(ignored_before);
        }
        Ok(content)
    }

    /// Whether looking further would change nothing: neither the answer, nor the list of ignored files.
    fn is_settled(&self, content: Content, excluded: bool) -> bool {
        match content {
            Content::Nothing => false,
            Content::Ignored => excluded,
            Content::Untracked => !self.options.ignored,
        }
    }

    fn untracked(&self, path: BString, worker: &mut Worker<'a>) {
        let limit = self.options.limit.saturating_sub(worker.recorded);
        let findings = &mut worker.findings;
        push(path, limit, &mut findings.untracked, &mut findings.truncated);
    }

    fn ignored(&self, path: BString, worker: &mut Worker<'a>) {
        let findings = &mut worker.findings;
        if self.options.ignored {
            let limit = self.options.limit;
            push(path, limit, &mut findings.ignored, &mut findings.truncated);
        }
    }
}

/// Anybody can fill a directory with files; they are counted no further than they are reported.
fn push(path: BString, limit: usize, list: &mut Vec<BString>, truncated: &mut bool) {
    if list.len() < limit {
        list.push(path);
    } else {
        *truncated = true;
    }
}

/// git tracks files and links; pipes, sockets and devices are invisible to it.
fn is_visible_file(kind: FileType) -> bool {
    matches!(kind, FileType::RegularFile | FileType::Symlink)
}
