//! The tree below a directory, one entry after the other, sorted.
//!
//! Names are compared byte by byte within each directory, and a directory comes before what is in it. So a walk can be
//! taken up again after any path, also when what was there is gone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::FileType;

use super::{RuledTree, UNREADABLE_RULES, guard};
use crate::Error;
use crate::error::check_cancelled;
use crate::status::{Continue, Directory, Sources};

/// How a tree is walked.
#[derive(Clone, Debug)]
pub(super) struct WalkOptions {
    /// How deep: 1 is the directory's own entries.
    pub(super) depth: usize,
    /// What becomes of entries that are ignored.
    pub(super) ignored: Ignored,
    /// Begin with what comes after this path, relative to where the walk begins; with the path itself where it is a
    /// file and `again` is set.
    pub(super) after: Option<BString>,
    pub(super) again: bool,
}

/// What becomes of ignored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ignored {
    LeftOut,
    /// They are named, and ignored directories are not entered.
    Named,
    /// They are treated like others.
    Entered,
}

/// An entry that was come upon.
pub(super) struct Visited {
    pub(super) directory: Arc<Directory>,
    pub(super) name: BString,
    pub(super) kind: FileType,
    pub(super) ignored: bool,
}

/// A walk under way.
pub(super) struct Walk<'a> {
    tree: &'a RuledTree,
    options: WalkOptions,
    frames: Vec<Frame>,
    /// The directory that was come upon last, to be entered next.
    next: Option<(Arc<Directory>, BString, Resume)>,
    /// Some directory had more entries than are looked at.
    pub(super) crowded: bool,
    cancel: &'a AtomicBool,
}

/// A directory being walked: what is left of it, last first.
struct Frame {
    directory: Arc<Directory>,
    entries: Vec<(BString, FileType)>,
    resume: Resume,
}

/// The names of the path after which a walk begins, from here on; the next one last.
type Resume = Vec<BString>;

/// Of more crowded directories, so many entries are looked at, in no order.
const MAX_ENTRIES: usize = 200_000;

/// Deeper directories are named, and not entered. Each one above is held open.
const MAX_DEPTH: usize = 200;

impl<'a> Walk<'a> {
    pub(super) fn new(
        tree: &'a RuledTree,
        start: Arc<Directory>,
        options: WalkOptions,
        cancel: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let resume: Resume = options
            .after
            .iter()
            .flat_map(|path| path.rsplit_str("/"))
            .map(BString::from)
            .collect();
        let mut walk = Self {
            tree,
            options,
            frames: Vec::new(),
            next: None,
            crowded: false,
            cancel,
        };
        walk.open(start, resume)?;
        Ok(walk)
    }

    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Option<Visited>, Error> {
        loop {
            check_cancelled(self.cancel)?;
            if let Some((parent, name, resume)) = self.next.take() {
                self.enter(&parent, name.as_bstr(), resume)?;
            }
            let Some(frame) = self.frames.last_mut() else {
                return Ok(None);
            };
            let Some((name, kind)) = frame.entries.pop() else {
                self.frames.pop();
                continue;
            };
            let directory = Arc::clone(&frame.directory);
            let mut resume = Resume::new();
            let is_again = frame.resume.last().is_some_and(|again| *again == name);
            if is_again {
                resume = std::mem::take(&mut frame.resume);
                resume.pop();
            }
            if let Some(visited) = self.visit(directory, name, kind, is_again, resume) {
                return Ok(Some(visited));
            }
        }
    }

    /// Does not enter the directory that was told last.
    pub(super) fn skip(&mut self) {
        self.next = None;
    }

    fn visit(
        &mut self,
        directory: Arc<Directory>,
        name: BString,
        kind: FileType,
        is_again: bool,
        resume: Resume,
    ) -> Option<Visited> {
        let is_directory = kind == FileType::Directory;
        let ignored = self.is_ignored(&directory, name.as_bstr(), is_directory);
        if ignored && self.options.ignored == Ignored::LeftOut {
            return None;
        }
        let entered = !ignored || self.options.ignored == Ignored::Entered;
        if is_directory && entered && self.frames.len() < self.options.depth.min(MAX_DEPTH) {
            self.next = Some((Arc::clone(&directory), name.clone(), resume));
        }
        let is_told = !is_again || (self.options.again && !is_directory);
        is_told.then_some(Visited {
            directory,
            name,
            kind,
            ignored,
        })
    }

    fn is_ignored(&self, directory: &Directory, name: &BStr, is_directory: bool) -> bool {
        let sources = Sources {
            left_out: None,
            failure: &UNREADABLE_RULES,
        };
        let path = directory.path_of(name);
        self.tree
            .excludes
            .is_excluded(directory, path.as_bstr(), is_directory, &sources)
    }

    /// A directory that is gone, closed, or swapped for something else holds nothing.
    fn enter(&mut self, parent: &Arc<Directory>, name: &BStr, resume: Resume) -> Result<(), Error> {
        match parent.child(name) {
            Ok(directory) if !guard::is_closed(&self.tree.roots, &directory) => {
                self.open(Arc::new(directory), resume)
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, directory: Arc<Directory>, resume: Resume) -> Result<(), Error> {
        let mut entries = Vec::new();
        let (cancel, mut crowded) = (self.cancel, false);
        let first = resume.last();
        directory.list(|name, kind| {
            check_cancelled(cancel)?;
            let name = name.to_bytes().as_bstr();
            if guard::is_git_name(name) || first.is_some_and(|first| name < first.as_bstr()) {
                return Ok(Continue::Yes);
            }
            if entries.len() >= MAX_ENTRIES {
                crowded = true;
                return Ok(Continue::No);
            }
            entries.push((name.to_owned(), kind));
            Ok(Continue::Yes)
        })?;
        self.crowded |= crowded;
        entries.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        self.frames.push(Frame {
            directory,
            entries,
            resume,
        });
        Ok(())
    }
}
