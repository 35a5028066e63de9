//! A status that is kept true by watching: what did not change is not looked at again.
//!
//! Every directory that a walk looks into is watched before it is read. A write that ended before the status
//! was asked for is in the kernel's queue by then, the queue is read before anything else, and the directories
//! it names are visited again. The index is watched like them; the configuration, `info/exclude`,
//! `info/attributes`, references and states of operations are read each time, for they are small.
//!
//! What no watch tells of is looked at each time, too: files with a second name (the other may lie anywhere),
//! submodules and nested repositories. There are two gaps. A file that gets its second name in a directory
//! that nobody watches, and is written to by it, and a file system mounted inside the tree go unnoticed until
//! the next full walk, which is due every few minutes. And who writes through a mapping is noticed when the
//! mapping ends.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::inotify::ReadFlags;
use rustix::fs::{AtFlags, FileType};

use super::findings::Found;
use super::head::{self, LastDistance};
use super::records::{Records, Stale};
use super::rules::{Rules, is_rules_file};
use super::scan::{Scan, Watching};
use super::staged::{self, Changes};
use super::watch::{Watch, WatchBudget, WatchId};
use super::{Head, Status, StatusOptions, Upstream, check_cancelled, index_changes};
use crate::descriptor::as_path;
use crate::{Confined, Error, ObjectId, Repository, index};

/// The status of one repository, and what it rests upon.
pub(super) struct WatchedStatus {
    watch: Watch,
    git_dir: WatchId,
    place: Place,
    rules: Rules,
    index: gix::index::State,
    records: Records,
    /// What is staged, since which commit.
    staged: Option<(Option<ObjectId>, Arc<Changes>)>,
    last_distance: LastDistance,
    /// The answer given last, and to what.
    answer: Option<(bool, usize, Status)>,
    walked_at: Instant,
    /// An attempt to bring this up to date began and has not ended well.
    is_broken: bool,
}

/// The directories, by what they are rather than by what they are called.
type Place = [Option<(u64, u64)>; 3];

/// What changed since the last time.
#[derive(Default)]
struct Noticed {
    stale: Stale,
    index: bool,
    /// It cannot be said what.
    everything: bool,
    /// Files that are new, or have a new name.
    named: Vec<BString>,
}

/// How long nothing but watches is relied upon.
const WALK_EVERY: Duration = Duration::from_secs(600);

/// How many untracked paths are remembered. A tree with more is walked each time.
const MAX_UNTRACKED: usize = 100_000;

/// How many index entries are remembered, at about a hundred bytes.
const MAX_ENTRIES: usize = 1_000_000;

/// Visiting directories one by one is not worth it when there are more of them than this, and more than one
/// in four.
const MANY_VISITS: usize = 64;

/// Looking at new files one by one is not worth it when there are more of them than this.
const MANY_NAMES: usize = 4096;

impl WatchedStatus {
    /// Begins to watch. The first status walks over everything. None where watching is not possible.
    pub(super) fn begin(repository: &Repository, budget: Arc<WatchBudget>) -> Option<Self> {
        let watch = Watch::new(budget).ok()?;
        Some(Self {
            git_dir: watch.add(repository.confined_git_dir().directory())?,
            watch,
            place: place(repository),
            rules: Rules::read(repository),
            index: gix::index::State::new(repository.local().object_hash()),
            records: Records::default(),
            staged: None,
            last_distance: LastDistance::default(),
            answer: None,
            walked_at: Instant::now(),
            is_broken: true,
        })
    }

    /// The status as of now. None when it cannot be told by watching; nor can the next one, then.
    pub(super) fn status(
        &mut self,
        repository: &Repository,
        worktree: &Confined,
        options: &StatusOptions,
        cancel: &AtomicBool,
    ) -> Result<Option<Status>, Error> {
        let local = repository.local();
        // Somebody passes off other commits for those that are known here by their names.
        if local.objects.store_ref().replacements().next().is_some() {
            return Ok(None);
        }
        let was_broken = std::mem::replace(&mut self.is_broken, true);
        let mut noticed = self.notice(worktree);
        noticed.everything |= was_broken || self.walked_at.elapsed() > WALK_EVERY;
        let rules = Rules::read(repository);
        let place = place(repository);
        if rules != self.rules || place != self.place {
            noticed.everything = true;
            (self.rules, self.place) = (rules, place);
        }
        if noticed.everything || noticed.index {
            let index = index::load(repository, &local)?;
            if index.entries().len() > MAX_ENTRIES || !index_changes::is_sorted(&index) {
                return Ok(None);
            }
            self.exchange_index(index, &mut noticed);
        }
        let visits = self.visits(noticed);
        let has_visits = !visits.is_empty();
        // Those of the directories to visit are counted again when they are added again.
        self.settle_count(&visits);
        let (seen, found) = self.look(repository, &local, worktree, visits, cancel)?;
        self.records.replace(&found.gone, found.records, &self.watch);
        self.settle_count(&[]);
        if self.watch.has_failed() || self.records.watched(self.git_dir).is_some() {
            return Ok(None);
        }
        let status = self.answer(seen, has_visits, options);
        let status = status.map(|status| Status {
            operation: head::operation(&local),
            rebase: repository.rebase_progress(),
            ..status
        });
        self.is_broken = status.is_none();
        Ok(status)
    }

    /// The index that the last status rests upon.
    pub(super) fn index(&self) -> &gix::index::State {
        &self.index
    }

    fn settle_count(&self, visits: &[BString]) {
        let of_git_dir = 1;
        let of_tree = self.records.watch_count_without(visits);
        self.watch.settle(of_tree + of_git_dir);
    }

    /// Reads what the watches say.
    fn notice(&self, worktree: &Confined) -> Noticed {
        let mut noticed = Noticed::default();
        let drained = self.watch.drain(|watch, events, name| {
            let name = name.map(|name| name.to_bytes().as_bstr());
            if watch == self.git_dir {
                noticed.index |= name.is_some_and(|name| name == "index");
                noticed.everything |= name.is_none();
                return;
            }
            // Of a watch that was ended, there may still be something in the queue.
            let Some(watched) = self.records.watched(watch) else {
                return;
            };
            let Some(name) = name else {
                // The directory itself: closed or opened to us, or gone, which the one above tells too.
                noticed.everything |= watched.record.is_empty() || events.contains(ReadFlags::UNMOUNT);
                noticed.stale.trees.insert(watched.record.clone());
                return;
            };
            let is_tracked = watched.directory == watched.record;
            if is_tracked && name == ".git" {
                return;
            }
            let mut path = watched.directory.clone();
            path.extend_from_slice(name);
            let is_directory = events.contains(ReadFlags::ISDIR);
            if is_tracked && is_rules_file(name) {
                noticed.stale.trees.insert(watched.record.clone());
            } else if !noticed.stale.directories.contains(&watched.record) {
                noticed.stale.directories.insert(watched.record.clone());
            }
            if is_tracked && is_directory {
                path.push(b'/');
                noticed.stale.gone.insert(path);
            } else if !is_directory && events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                noticed.named.push(path);
            }
        });
        // Whoever made a second name for a file may write to it by that; which file it is, nobody says.
        let is_second_name = |path: &BString| {
            rustix::fs::statat(worktree.directory(), as_path(path), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(
                |stat| stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
            )
        };
        noticed.everything |=
            drained.is_err() || noticed.named.len() > MANY_NAMES || noticed.named.iter().any(is_second_name);
        noticed
    }

    fn exchange_index(&mut self, index: gix::index::State, noticed: &mut Noticed) {
        let stale = &mut noticed.stale;
        if !noticed.everything {
            index_changes::compare(&self.index, &index, stale);
            let have_read = self.records.iter().filter(|(_, record)| record.has_read);
            stale
                .directories
                .extend(have_read.map(|(prefix, _)| prefix.clone()));
        }
        self.index = index;
        self.staged = None;
    }

    /// The directories to visit, with those below them that there is no record of.
    fn visits(&mut self, mut noticed: Noticed) -> Vec<BString> {
        if !noticed.everything {
            let silent = self.records.iter().filter(|(_, record)| record.is_silent);
            let silent = silent.map(|(prefix, _)| prefix.clone());
            noticed.stale.directories.extend(silent);
            let visits = self.records.forget(&noticed.stale, &self.watch);
            if visits.len() <= MANY_VISITS || visits.len() <= self.records.len() / 4 {
                return visits;
            }
        }
        self.records.clear(&self.watch);
        self.walked_at = Instant::now();
        vec![BString::default()]
    }

    /// Visits the directories, and reads what is checked out and staged.
    fn look(
        &mut self,
        repository: &Repository,
        local: &gix::Repository,
        worktree: &Confined,
        visits: Vec<BString>,
        cancel: &AtomicBool,
    ) -> Result<((Head, Option<Upstream>), Found), Error> {
        let (staged, last_distance) = (&mut self.staged, &mut self.last_distance);
        let index = &self.index;
        let mut read_heads = || {
            let (head, upstream) = head::head_and_upstream(local, last_distance, cancel)?;
            if staged.as_ref().is_none_or(|(commit, _)| *commit != head.commit) {
                self.answer = None;
                let changes = staged::changes(repository, local, index, &head, cancel)?;
                *staged = Some((head.commit, Arc::new(changes)));
            }
            Ok((head, upstream))
        };
        if visits.is_empty() {
            return Ok((read_heads()?, Found::default()));
        }
        let options = StatusOptions {
            untracked: true,
            ignored: false,
            limit: MAX_UNTRACKED,
        };
        let watching = Watching {
            watch: &self.watch,
            known: &self.records,
        };
        let scan = Scan::new(repository, local, worktree, index, &options, cancel);
        let outcome = scan.watching(watching, visits).run(read_heads)?;
        check_cancelled(cancel)?;
        Ok(outcome)
    }

    /// Puts the answer together, or gives the last one again. None when there is too much to report.
    fn answer(
        &mut self,
        (head, upstream): (Head, Option<Upstream>),
        has_visits: bool,
        options: &StatusOptions,
    ) -> Option<Status> {
        let last = self.answer.take();
        let last = last.filter(|(untracked, limit, _)| {
            !has_visits && (*untracked, *limit) == (options.untracked, options.limit)
        });
        let status = match last {
            Some((.., status)) => status,
            None => {
                let mut findings = self.records.findings();
                if findings.truncated || findings.untracked.len() > MAX_UNTRACKED {
                    return None;
                }
                if !options.untracked {
                    findings.untracked.clear();
                }
                let changes = self.staged.as_ref().map(|(_, changes)| Changes::clone(changes));
                let mut status = Status::default();
                status.take(changes.unwrap_or_default(), findings, options.limit);
                status
            }
        };
        let status = Status {
            head,
            upstream,
            ..status
        };
        self.answer = Some((options.untracked, options.limit, status.clone()));
        Some(status)
    }
}

fn place(repository: &Repository) -> Place {
    let identity = |directory: &Confined| {
        let stat = rustix::fs::fstat(directory.directory().as_fd()).ok()?;
        Some((stat.st_dev, stat.st_ino))
    };
    [
        repository.confined_worktree().and_then(identity),
        identity(repository.confined_git_dir()),
        identity(repository.confined_common_dir()),
    ]
}
