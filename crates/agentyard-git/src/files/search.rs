//! Regular expressions are looked for in the files of a tree.
//!
//! The tree is walked by descriptor, in its order; batches of its files are searched by a few threads, each file from
//! its own descriptor.

mod expression;
mod globs;
mod lines;
mod search_file;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::FileType;

use self::globs::Globs;
use self::search_file::{FileSearch, Outcome, Target};
use super::list::below;
use super::lookup::{Spot, look_up};
use super::walk::{Ignored, Visited, Walk, WalkOptions};
use super::{FileTree, RuledTree, shown_in};
use crate::error::check_cancelled;
use crate::{Error, RepositoryPath};

/// What to look for, and where.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// A regular expression of Rust's regex crate, looked for in each line.
    pub pattern: String,
    /// Take the pattern as the text that it is.
    pub fixed: bool,
    pub case: SearchCase,
    /// A directory, or a single file.
    pub path: RepositoryPath,
    /// Only files that match one of these globs, if there are any: by their name, or by their path in the tree when
    /// the glob has a slash.
    pub include: Vec<String>,
    /// No file or directory that matches one of these.
    pub exclude: Vec<String>,
    /// Search what git ignores, too.
    pub ignored: bool,
    pub mode: SearchMode,
    /// How many lines around each to show, up to [`MAX_CONTEXT`].
    pub context: usize,
    /// So many matching lines (or files) at most, up to [`MAX_FOUND`].
    pub limit: usize,
    /// Go on where a page before ended.
    pub after: Option<SearchPlace>,
    /// How long to look before answering with what was found so far.
    pub time: Duration,
}

/// Whether upper and lower case differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchCase {
    #[default]
    Sensitive,
    Insensitive,
    /// They differ when the pattern has upper case.
    Smart,
}

/// What to answer with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    #[default]
    Lines,
    /// Which files have it.
    Files,
    /// How many lines of each file have it.
    Counts,
}

/// Where a page ends: after a file, or after a line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPlace {
    /// From the top of the tree.
    pub path: String,
    /// The last line that was told; none after the whole file.
    pub line: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPage {
    /// Sorted by path.
    pub files: Vec<FileMatches>,
    /// Where to go on; none when everything was looked at.
    pub next: Option<SearchPlace>,
    /// The time was up before the page was full.
    pub out_of_time: bool,
    /// How many files were searched for this page.
    pub searched: u64,
    /// How many were left out because they are binary or could not be read.
    pub left_out: u64,
    /// A directory has more entries than are looked at.
    pub crowded: bool,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// From the top of the tree.
    pub path: String,
    /// With [`SearchMode::Lines`], in order.
    pub lines: Vec<SearchedLine>,
    /// How many lines match: all of them with [`SearchMode::Counts`], otherwise those of this page.
    pub count: u64,
}

/// A line that matches, or stands near one that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedLine {
    pub number: u64,
    pub text: String,
    pub matches: bool,
    /// Only a part of a long line is shown.
    pub cut: bool,
}

pub const MAX_FOUND: usize = 2000;

pub const MAX_CONTEXT: usize = 20;

/// How many files are searched before what was found is looked at.
const BATCH: usize = 256;

/// How much text one page holds.
const MAX_PAGE_BYTES: usize = 1 << 20;

impl FileTree {
    /// Looks for a regular expression in files that are not ignored. Binary files are left out.
    pub fn search(&self, query: &SearchQuery, cancel: &AtomicBool) -> Result<SearchPage, Error> {
        let deadline = Instant::now() + query.time;
        let search = FileSearch::new(query, deadline, cancel)?;
        let ruled = self.ruled();
        let globs = Globs::new(&query.include, &query.exclude)?;
        let mut page = PageInProgress::new(query);
        match look_up(self, &ruled.top, &query.path)? {
            Spot::Directory(start) => {
                let after = query.after.as_ref();
                let options = WalkOptions {
                    depth: usize::MAX,
                    ignored: if query.ignored {
                        Ignored::Entered
                    } else {
                        Ignored::LeftOut
                    },
                    after: after
                        .map(|place| below(&ruled.top, &start, &place.path))
                        .transpose()?,
                    again: after.is_some_and(|place| place.line.is_some()),
                };
                let mut walk = Walk::new(&ruled, start, options, cancel)?;
                while !page.is_done() {
                    let (targets, last) = next_batch(&mut walk, &ruled, &globs)?;
                    page.take(search.all(&targets)?, targets, last);
                    check_cancelled(cancel)?;
                    if Instant::now() >= deadline {
                        page.run_out_of_time();
                    }
                }
                page.page.crowded = walk.crowded;
            }
            Spot::Entry(entry) => {
                let target = Target::new(
                    entry.directory.clone(),
                    entry.name.clone(),
                    self.shown_entry(&entry),
                );
                page.take(search.all(std::slice::from_ref(&target))?, vec![target], true);
            }
            Spot::Absent { .. } => {
                return Err(Error::NotFound {
                    path: query.path.shown(),
                });
            }
        }
        Ok(page.page)
    }
}

/// The next files of a walk, and whether they are the last.
fn next_batch(walk: &mut Walk<'_>, ruled: &RuledTree, globs: &Globs) -> Result<(Vec<Target>, bool), Error> {
    let mut targets = Vec::new();
    while targets.len() < BATCH {
        let Some(visited) = walk.next()? else {
            return Ok((targets, true));
        };
        let path = path_in(ruled, &visited);
        if visited.kind == FileType::Directory {
            if globs.exclude(path.as_bstr()) {
                walk.skip();
            }
        } else if visited.kind == FileType::RegularFile && globs.include(path.as_bstr()) {
            let shown = shown_in(&ruled.top, &visited.directory, visited.name.as_bstr());
            targets.push(Target::new(visited.directory, visited.name, shown));
        }
    }
    Ok((targets, false))
}

fn path_in(ruled: &RuledTree, visited: &Visited) -> BString {
    let path = visited.directory.path_of(&visited.name);
    path[ruled.top.prefix.len()..].into()
}

/// A page that is being filled.
struct PageInProgress {
    page: SearchPage,
    mode: SearchMode,
    limit: usize,
    found: usize,
    bytes: usize,
    done: bool,
    /// The last file that was searched.
    last: Option<String>,
    /// Where the page begins.
    after: Option<SearchPlace>,
}

impl PageInProgress {
    fn new(query: &SearchQuery) -> Self {
        Self {
            page: SearchPage::default(),
            mode: query.mode,
            limit: query.limit.clamp(1, MAX_FOUND),
            found: 0,
            bytes: 0,
            done: false,
            last: None,
            after: query.after.clone(),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn run_out_of_time(&mut self) {
        if !self.done {
            self.done = true;
            self.page.out_of_time = true;
            let reached = self.last.take().map(|path| SearchPlace { path, line: None });
            self.page.next = reached.or_else(|| self.after.take());
        }
    }

    /// Takes what was found in files, in their order, until the page is full.
    fn take(&mut self, outcomes: Vec<Outcome>, targets: Vec<Target>, is_last: bool) {
        for (outcome, target) in outcomes.into_iter().zip(targets) {
            let found = match outcome {
                Outcome::Found(found) => found,
                Outcome::LeftOut => {
                    self.page.left_out += 1;
                    self.last = Some(target.shown);
                    continue;
                }
                Outcome::OutOfTime => {
                    self.run_out_of_time();
                    return;
                }
            };
            self.page.searched += 1;
            if found.count > 0 && !self.add(found, &target.shown) {
                self.done = true;
                return;
            }
            self.last = Some(target.shown);
        }
        self.done = is_last;
    }

    /// Adds what was found in a file; false when the page is full and there is more.
    fn add(&mut self, mut found: FileMatches, path: &str) -> bool {
        let before = self.last.clone();
        if self.found >= self.limit || self.bytes >= MAX_PAGE_BYTES {
            self.page.next = before.map(|path| SearchPlace { path, line: None });
            return false;
        }
        path.clone_into(&mut found.path);
        if self.mode != SearchMode::Lines {
            self.found += 1;
            self.page.files.push(found);
            return true;
        }
        let room = self.limit - self.found;
        let whole = lines::keep(&mut found, room, MAX_PAGE_BYTES - self.bytes);
        self.found += usize::try_from(found.count).unwrap_or(usize::MAX);
        self.bytes += found.lines.iter().map(|line| line.text.len()).sum::<usize>();
        if !whole {
            let line = found.lines.last().map(|line| line.number);
            self.page.next = Some(SearchPlace {
                path: found.path.clone(),
                line,
            });
        }
        self.page.files.push(found);
        whole
    }
}
