//! The working tree against the index.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, OnceLock};
use std::{mem, thread};

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::content::Contents;
use super::directory::Directory;
use super::entry::{Comparison, pattern_case};
use super::findings::{Findings, Found};
use super::ignore::{Excludes, Sources};
use super::queue::Queue;
use super::records::{Record, Records};
use super::rules::RULES_FILES;
use super::tracked::{Escape, Tracked};
use super::watch::{Watch, WatchId};
use super::{StatusOptions, check_cancelled, submodule, tracked};
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
    watching: Option<Watching<'a>>,
}

/// Has a walk leave records, by which a later one can be kept short.
#[derive(Clone, Copy)]
pub(super) struct Watching<'a> {
    pub(super) watch: &'a Watch,
    /// Directories that need not be visited, unless asked for.
    pub(super) known: &'a Records,
}

/// What one thread needs for its part of a walk.
pub(super) struct Worker<'a> {
    pub(super) contents: Contents<'a>,
    pub(super) findings: Findings,
    /// Of the directory that is being visited.
    pub(super) record: Record,
    records: Vec<(BString, Record)>,
    /// How many untracked paths the records hold.
    pub(super) recorded: usize,
    gone: Vec<BString>,
}

/// A directory to visit, and its part of the index.
pub(super) enum Task {
    Top,
    /// Somewhere below, by its prefix.
    At(BString),
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

/// Asked for once: it takes the kernel as long to say as what is in a small repository.
static MOST_THREADS: LazyLock<usize> = LazyLock::new(|| {
    thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_THREADS)
});

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
            excludes: Excludes::new(Some(repository), pattern_case(local)),
            comparison: Comparison::new(local, index),
            queue: Queue::new(vec![Task::Top]),
            failure: OnceLock::new(),
            watching: None,
        }
    }

    /// Visits only the directories with these prefixes, and those below them that are not known; watches
    /// them, and leaves records of them.
    pub(super) fn watching(mut self, watching: Watching<'a>, prefixes: Vec<BString>) -> Self {
        self.watching = Some(watching);
        self.queue = Queue::new(prefixes.into_iter().map(Task::At).collect());
        self
    }

    /// Walks the tree on a few threads, and has `alongside` done meanwhile on this one.
    pub(super) fn run<T>(self, alongside: impl FnOnce() -> Result<T, Error>) -> Result<(T, Found), Error> {
        let outcome = thread::scope(|scope| {
            // Where the system grants no more threads, there are fewer.
            let helpers: Vec<_> = (1..self.threads())
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, || self.work()).ok())
                .collect();
            let done = alongside();
            if done.is_err() {
                self.queue.stop();
            }
            let mut found = self.work();
            for helper in helpers {
                let more = helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                found = found.and_then(|found| Ok(found.and(more?)));
            }
            Ok((done?, found?))
        });
        match self.failure.into_inner() {
            Some(failure) => Err(failure),
            None => outcome,
        }
    }

    pub(super) fn sources<'worker>(&'worker self, worker: &'worker Worker<'_>) -> Sources<'worker> {
        Sources {
            left_out: Some((self.index, worker.contents.objects())),
            failure: &self.failure,
        }
    }

    /// Watches a directory without tracked files, if this walk does that. What is read of it from here on is
    /// vouched for.
    pub(super) fn watch_untracked(&self, directory: &Directory, worker: &mut Worker<'a>) {
        let Some(watching) = &self.watching else {
            return;
        };
        if let Some(watch) = watching.add(directory) {
            let watch = (watch, directory.prefix.clone());
            worker.record.untracked_watches.push(watch);
        }
        // What makes a repository of it lies further below, where nobody looks.
        worker.record.is_silent |= submodule::has_git_entry(directory);
    }

    fn threads(&self) -> usize {
        let files = self.index.entries().len();
        let files = match &self.watching {
            Some(watching) if watching.known.len() > 0 => files * self.queue.len() / watching.known.len(),
            _ => files,
        };
        files.div_ceil(FILES_PER_THREAD).clamp(1, *MOST_THREADS)
    }

    fn work(&self) -> Result<Found, Error> {
        let mut worker = Worker {
            contents: Contents::new(self.repository, self.index, self.cancel),
            findings: Findings::default(),
            record: Record::default(),
            records: Vec::new(),
            recorded: 0,
            gone: Vec::new(),
        };
        while let Some((task, running)) = self.queue.next() {
            let outcome = check_cancelled(self.cancel).and_then(|()| self.visit(&task, &mut worker));
            if outcome.is_err() {
                self.queue.stop();
            }
            drop(running);
            outcome?;
        }
        Ok(Found {
            findings: worker.findings,
            records: worker.records,
            gone: worker.gone,
        })
    }

    fn visit(&self, task: &Task, worker: &mut Worker<'a>) -> Result<(), Error> {
        let (opened, prefix, entries) = match task {
            Task::Top => (
                Directory::top(self.worktree),
                BString::default(),
                0..self.index.entries().len(),
            ),
            Task::At(prefix) => (
                Directory::at(self.worktree, prefix.as_bstr()),
                prefix.clone(),
                tracked::entries_below(self.index, prefix.as_bstr()),
            ),
            Task::Below {
                parent,
                name,
                entries,
            } => (
                parent.child(name.as_bstr()),
                parent.prefix_of(name),
                entries.clone(),
            ),
        };
        match opened {
            Ok(directory) => self.visit_directory(&Arc::new(directory), entries, worker)?,
            // Replaced since it was listed, or never there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.missing(&entries, worker);
                if self.watching.is_some() {
                    worker.gone.push(prefix.clone());
                }
            }
            // git goes on with a warning, too.
            Err(Errno::ACCESS | Errno::PERM) => {
                tracing::warn!("a directory of the working tree is closed to this server");
            }
            Err(errno) => {
                return Err(Error::ReadFile {
                    path: self.worktree.shown(),
                    source: errno.into(),
                });
            }
        }
        if self.watching.is_some() {
            worker.leave_record(prefix);
        }
        Ok(())
    }

    fn visit_directory(
        &self,
        directory: &Arc<Directory>,
        entries: Range<usize>,
        worker: &mut Worker<'a>,
    ) -> Result<(), Error> {
        if let Some(watching) = &self.watching {
            worker.record.watch = watching.add(directory);
        }
        let tracked = Tracked::new(self.index, directory.prefix.len(), entries)
            .map_err(|Escape| index::malformed(self.repository, "holds a path that git would not write"))?;
        let mut tasks = if self.options.untracked {
            self.list(directory, &tracked, worker)?
        } else {
            self.look_up(directory, &tracked, worker)?
        };
        if let Some(watching) = &self.watching {
            let mut gone: BTreeSet<BString> = tracked
                .directories
                .iter()
                .map(|below| directory.prefix_of(below.name))
                .collect();
            tasks.retain(|task| match task {
                Task::Below { name, .. } => {
                    let prefix = directory.prefix_of(name);
                    gone.remove(&prefix);
                    !watching.known.contains(prefix.as_bstr())
                }
                Task::Top | Task::At(_) => true,
            });
            worker.gone.extend(gone);
        }
        self.queue.add(tasks);
        Ok(())
    }
}

impl Watching<'_> {
    fn add(&self, directory: &Directory) -> Option<WatchId> {
        let watch = self.watch.add(directory.descriptor());
        let has_second_name = |name: &&str| {
            rustix::fs::statat(directory.descriptor(), *name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| stat.st_nlink > 1)
        };
        // Rules that can change without a word make everything below change without a word.
        if RULES_FILES.iter().any(has_second_name) {
            self.watch.fail();
        }
        watch
    }
}

impl Worker<'_> {
    /// Ends the visit of a directory.
    fn leave_record(&mut self, prefix: BString) {
        let findings = mem::take(&mut self.findings);
        self.recorded += findings.untracked.len();
        let record = Record {
            findings: (!findings.is_empty()).then(|| Box::new(findings)),
            has_read: self.contents.has_read_since(),
            ..mem::take(&mut self.record)
        };
        self.records.push((prefix, record));
    }
}
