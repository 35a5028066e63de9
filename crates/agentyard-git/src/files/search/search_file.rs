//! Files, each searched from its own descriptor.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use gix::bstr::BString;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;

use super::lines::Lines;
use super::{FileMatches, SearchPlace, SearchQuery, expression};
use crate::Error;
use crate::descriptor::open_child_file;
use crate::error::check_cancelled;
use crate::status::Directory;

/// A file to be searched.
pub(super) struct Target {
    directory: Arc<Directory>,
    name: BString,
    /// Its path in the tree.
    pub(super) shown: String,
}

/// What came of it.
pub(super) enum Outcome {
    Found(FileMatches),
    /// It is binary, has endless lines, or is gone or closed.
    LeftOut,
    OutOfTime,
}

/// How files are searched.
pub(super) struct FileSearch<'a> {
    query: &'a SearchQuery,
    matcher: RegexMatcher,
    deadline: Instant,
    cancel: &'a AtomicBool,
}

/// More threads would only take turns.
const MAX_THREADS: usize = 4;

/// Fewer files are not worth another thread.
const FILES_PER_THREAD: usize = 16;

impl Target {
    pub(super) fn new(directory: Arc<Directory>, name: BString, shown: String) -> Self {
        Self {
            directory,
            name,
            shown,
        }
    }
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(
        query: &'a SearchQuery,
        deadline: Instant,
        cancel: &'a AtomicBool,
    ) -> Result<Self, Error> {
        Ok(Self {
            query,
            matcher: expression::matcher(query)?,
            deadline,
            cancel,
        })
    }

    /// Searches files on a few threads, and tells what was found in each, in their order.
    pub(super) fn all(&self, targets: &[Target]) -> Result<Vec<Outcome>, Error> {
        let outcomes: Vec<OnceLock<Outcome>> = targets.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut searcher = expression::searcher(self.query);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(target) = targets.get(index) else {
                    return;
                };
                _ = outcomes[index].set(self.one(&mut searcher, target));
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores
            .min(MAX_THREADS)
            .min(targets.len().div_ceil(FILES_PER_THREAD));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        check_cancelled(self.cancel)?;
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.into_inner().unwrap_or(Outcome::OutOfTime))
            .collect())
    }

    fn one(&self, searcher: &mut Searcher, target: &Target) -> Outcome {
        if self.is_over() {
            return Outcome::OutOfTime;
        }
        let Ok(Some(file)) = open_child_file(target.directory.descriptor(), &target.name) else {
            return Outcome::LeftOut;
        };
        let mut lines = Lines::new(&self.matcher, self.query.mode, self.told(target));
        let reader = Interruptible { file, search: self };
        match searcher.search_reader(&self.matcher, reader, &mut lines) {
            Err(_) if self.is_over() => Outcome::OutOfTime,
            Err(_) => Outcome::LeftOut,
            Ok(()) if lines.is_binary => Outcome::LeftOut,
            Ok(()) => Outcome::Found(lines.found),
        }
    }

    /// The last line of the file that a page before has told.
    fn told(&self, target: &Target) -> u64 {
        match &self.query.after {
            Some(SearchPlace {
                path,
                line: Some(line),
            }) if *path == target.shown => *line,
            _ => 0,
        }
    }

    fn is_over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// A file that cannot be read any further once nobody waits for it.
struct Interruptible<'a> {
    file: File,
    search: &'a FileSearch<'a>,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.search.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}
