//! The working tree against the index.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread;

use gix::bstr::{BString, ByteSlice as _};
use rustix::io::Errno;

use super::content::Contents;
use super::directory::Directory;
use super::entry::{Comparison, pattern_case};
use super::ignore::{Excludes, Sources};
use super::queue::Queue;
use super::tracked::{Escape, Tracked};
use super::{Conflict, StatusOptions, check_cancelled};
use crate::{Confined, Error, Repository, index};

/// One walk over the working tree.
pub(super) struct Scan<'a> {
    pub(super) repository: &'a Repository,
    pub(super) worktree: &'a Confined,
    pub(super) index: &'a gix::index::State,
    pub(super) options: &'a StatusOptions,
    pub(super) cancel: &'a AtomicBool,
    pub(super) excludes: Excludes,
    pub(super) comparison: Comparison,
    queue: Queue<Task>,
    failure: OnceLock<Error>,
}

/// What a walk found, in no order.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) modified: Vec<BString>,
    pub(super) deleted: Vec<BString>,
    pub(super) added: Vec<BString>,
    pub(super) type_changed: Vec<BString>,
    pub(super) conflicted: Vec<(BString, Conflict)>,
    pub(super) untracked: Vec<BString>,
    pub(super) ignored: Vec<BString>,
    pub(super) truncated: bool,
}

/// What one thread needs for its part of a walk.
pub(super) struct Worker<'a> {
    pub(super) contents: Contents<'a>,
    pub(super) findings: Findings,
}

/// A directory to visit, and its part of the index.
pub(super) enum Task {
    Top,
    Below {
        parent: Arc<Directory>,
        name: BString,
        entries: Range<usize>,
    },
}

/// Below this many files a second thread costs more than it helps.
const FILES_PER_THREAD: usize = 1000;

/// Looking at a directory is a matter of the kernel's locks as much as of cores.
const MAX_THREADS: usize = 8;

impl Findings {
    /// Together with what another thread found.
    fn and(mut self, other: Self) -> Self {
        self.modified.extend(other.modified);
        self.deleted.extend(other.deleted);
        self.added.extend(other.added);
        self.type_changed.extend(other.type_changed);
        self.conflicted.extend(other.conflicted);
        self.untracked.extend(other.untracked);
        self.ignored.extend(other.ignored);
        self.truncated |= other.truncated;
        self
    }
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        local: &gix::Repository,
        worktree: &'a Confined,
        index: &'a gix::index::State,
        options: &'a StatusOptions,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            repository,
            worktree,
            index,
            options,
            cancel,
            excludes: Excludes::new(repository, pattern_case(local)),
            comparison: Comparison::new(local, index),
            queue: Queue::new(Task::Top),
            failure: OnceLock::new(),
        }
    }

    /// Walks the tree on a few threads, and has `alongside` done meanwhile on this one.
    pub(super) fn run<T>(self, alongside: impl FnOnce() -> Result<T, Error>) -> Result<(T, Findings), Error> {
        let outcome = thread::scope(|scope| {
            // Where the system grants no more threads, there are fewer.
            let helpers: Vec<_> = (1..self.threads())
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, || self.work()).ok())
                .collect();
            let done = alongside();
            if done.is_err() {
                self.queue.stop();
            }
            let mut findings = self.work();
            for helper in helpers {
                let more = helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                findings = findings.and_then(|findings| Ok(findings.and(more?)));
            }
            Ok((done?, findings?))
        });
        match self.failure.into_inner() {
            Some(failure) => Err(failure),
            None => outcome,
        }
    }

    pub(super) fn sources<'worker>(&'worker self, worker: &'worker Worker<'_>) -> Sources<'worker> {
        Sources {
            index: self.index,
            objects: worker.contents.objects(),
            failure: &self.failure,
        }
    }

    fn threads(&self) -> usize {
        let useful = self.index.entries().len().div_ceil(FILES_PER_THREAD);
        let available = thread::available_parallelism().map_or(1, NonZero::get);
        useful.clamp(1, available.min(MAX_THREADS))
    }

    fn work(&self) -> Result<Findings, Error> {
        let mut worker = Worker {
            contents: Contents::new(self.repository, self.index, self.cancel),
            findings: Findings::default(),
        };
        while let Some((task, running)) = self.queue.next() {
            let outcome = check_cancelled(self.cancel).and_then(|()| self.visit(&task, &mut worker));
            if outcome.is_err() {
                self.queue.stop();
            }
            drop(running);
            outcome?;
        }
        Ok(worker.findings)
    }

    fn visit(&self, task: &Task, worker: &mut Worker<'a>) -> Result<(), Error> {
        let (opened, entries) = match task {
            Task::Top => (Directory::top(self.worktree), 0..self.index.entries().len()),
            Task::Below {
                parent,
                name,
                entries,
            } => (parent.child(name.as_bstr()), entries.clone()),
        };
        match opened {
            Ok(directory) => self.visit_directory(&Arc::new(directory), entries, worker),
            // Replaced since it was listed, or never there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.missing(&entries, worker);
                Ok(())
            }
            // git goes on with a warning, too.
            Err(Errno::ACCESS | Errno::PERM) => {
                tracing::warn!("a directory of the working tree is closed to this server");
                Ok(())
            }
            Err(errno) => Err(Error::ReadFile {
                path: self.worktree.shown(),
                source: errno.into(),
            }),
        }
    }

    fn visit_directory(
        &self,
        directory: &Arc<Directory>,
        entries: Range<usize>,
        worker: &mut Worker<'a>,
    ) -> Result<(), Error> {
        let tracked = Tracked::new(self.index, directory.prefix.len(), entries)
            .map_err(|Escape| index::malformed(self.repository, "holds a path that git would not write"))?;
        let tasks = if self.options.untracked {
            self.list(directory, &tracked, worker)?
        } else {
            self.look_up(directory, &tracked, worker)?
        };
        self.queue.add(tasks);
        Ok(())
    }
}
