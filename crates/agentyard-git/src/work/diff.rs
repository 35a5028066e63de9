//! `git diff`: what differs between two commits, the index and the working tree.

mod between;
mod generated;
mod listing;
mod narrow;
mod patch;
mod untracked;

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;

use gix::bstr::ByteSlice as _;

use crate::program::Invocation;
use crate::{Error, RepositoryPath, Work};
pub use between::Between;
use between::Sides;
use listing::{Entry, Listing};

/// What to compare, and how.
#[derive(Debug, Clone)]
pub struct DiffQuery {
    /// The two sides.
    pub between: Between,
    /// Only these files and directories; all when empty.
    pub paths: Vec<RepositoryPath>,
    /// Show untracked files as added.
    pub untracked: bool,
    /// Whether the text of the changes is wanted, and not just which files changed and how much.
    pub text: bool,
    /// Unchanged lines around each change.
    pub context_lines: u32,
    /// Mark changed words instead of lines.
    pub words: bool,
    /// Take lines that differ in white space alone for the same.
    pub ignore_whitespace: bool,
    /// Find files under another name.
    pub renames: bool,
    /// Find files that were copied from another changed file.
    pub copies: bool,
    /// Leave out the text of files that programs write: lock files, bundles.
    pub leave_out_generated: bool,
    /// The file with which the text begins; what comes before it was shown already.
    pub from_file: usize,
}

impl Default for DiffQuery {
    fn default() -> Self {
        Self {
            between: Between::IndexAndWorktree,
            paths: Vec::new(),
            untracked: false,
            text: true,
            context_lines: 3,
            words: false,
            ignore_whitespace: false,
            renames: true,
            copies: false,
            leave_out_generated: true,
            from_file: 0,
        }
    }
}

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// By path; untracked files last.
    pub files: Vec<ChangedFile>,
    /// The same for the same differences; another one, almost always, when they changed.
    pub fingerprint: u64,
    /// The first file whose text was asked for and is not here because there is too much of it.
    pub reached: Option<usize>,
}

/// A file that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path, by its new name.
    pub path: String,
    /// Its path on the other side, when that is another.
    pub old_path: Option<String>,
    /// What happened to it.
    pub change: Change,
    /// Lines added.
    pub insertions: u64,
    /// Lines deleted.
    pub deletions: u64,
    /// Whether it is not text, or too large to be compared as such.
    pub binary: bool,
    /// Whether its text was left out because a program writes the file.
    pub left_out: bool,
    /// Its part of the unified diff, without control characters.
    pub patch: Option<String>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Change {
    /// It is new.
    Added,
    /// It has other content, or another mode.
    #[default]
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed,
    /// It began as another file.
    Copied,
    /// It is another sort of file.
    TypeChanged,
    /// Its conflict is not resolved.
    Conflicted,
    /// git does not know it.
    Untracked,
}

/// How much of the text git is asked for.
enum Text<'a> {
    None,
    Whole,
    /// From this file on.
    From(&'a [u8]),
}

/// The most text that is taken from git for one call. It is more than any answer may have.
const TEXT_LIMIT: usize = 9 << 20;

/// Files above this size are not compared line by line.
const LARGE_FILE: &str = "16m";

/// More unchanged lines than any file of that size needs.
const MAX_CONTEXT: u32 = 10_000;

impl Work<'_> {
    /// Compares.
    pub fn diff(&self, query: &DiffQuery) -> Result<Diff, Error> {
        let sides = query.between.resolve(self)?;
        let narrowed = narrow::narrowed(self, query, &sides)?;
        let mut listing = match &narrowed {
            Some(narrowed) if narrowed.paths.is_empty() => Listing::default(),
            _ => {
                let asked = narrowed.as_ref().unwrap_or(query);
                if query.from_file == 0 {
                    self.listing(asked, &sides)?
                } else {
                    self.later_listing(asked, &sides)?
                }
            }
        };
        let last = listing.reached;
        let is_changed = |entry: &Entry| !entry.is_unchanged(query, last);
        let reached = last.map(|last| {
            listing.entries[..last]
                .iter()
                .filter(|entry| is_changed(entry))
                .count()
        });
        listing.entries.retain(is_changed);
        let mut diff = Diff {
            files: listing.entries.iter().map(ChangedFile::from).collect(),
            reached,
            ..Diff::default()
        };
        for (file, entry) in diff.files.iter_mut().zip(&mut listing.entries) {
            file.left_out = query.leave_out_generated && generated::is_generated(&entry.path, &query.paths);
            file.patch = entry.patch.take().filter(|_| query.text && !file.left_out);
        }
        if query.untracked {
            untracked::append(self, query, &sides, &mut diff)?;
        }
        diff.fingerprint = fingerprint(&diff.files);
        Ok(diff)
    }

    /// Which files differ and, in the same call of git, as much of the text as there is room for.
    fn listing(&self, query: &DiffQuery, sides: &Sides) -> Result<Listing, Error> {
        // A file of the working tree that was touched and not changed is told from others by having no text.
        let mut listing = None;
        if query.text || sides.reads_worktree() {
            listing = Listing::parse(&self.compare(query, sides, Text::Whole).run()?, query)?;
        }
        if listing.is_none() && !query.text {
            listing = Listing::parse(&self.compare(query, sides, Text::None).run()?, query)?;
        }
        listing.ok_or_else(|| {
            Error::invalid(
                "a comparison in which so many files differ",
                "narrow it down with `paths`, or ask for `stat` alone",
            )
        })
    }

    /// As [`Work::listing`], with the text from a later file on.
    fn later_listing(&self, query: &DiffQuery, sides: &Sides) -> Result<Listing, Error> {
        let mut listing = self.listing(
            &DiffQuery {
                from_file: 0,
                ..query.clone()
            },
            sides,
        )?;
        let shown: Vec<usize> = (0..listing.entries.len())
            .filter(|&index| !listing.entries[index].is_unchanged(query, listing.reached))
            .collect();
        let Some(&first) = shown.get(query.from_file) else {
            return Ok(listing);
        };
        if listing.reached.is_none_or(|reached| first < reached) || !query.text {
            return Ok(listing);
        }
        let text = Text::From(&listing.entries[first].path);
        let finished = self.compare(query, sides, text).run()?;
        if let Some(rest) = Listing::parse(&finished, query)?
            && rest.entries.len() == listing.entries.len() - first
        {
            listing.replace_from(first, rest);
        }
        Ok(listing)
    }

    /// `git diff` such that neither the repository's configuration nor the person's has a say in what it prints.
    fn compare(&self, query: &DiffQuery, sides: &Sides, text: Text<'_>) -> Invocation<'_> {
        let invocation = self
            .invoke("diff")
            .words(&[
                "--raw",
                "--numstat",
                "-z",
                "--no-abbrev",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
                "--no-color-moved",
                "--no-relative",
                "--src-prefix=a/",
                "--dst-prefix=b/",
                "--diff-algorithm=default",
                "--inter-hunk-context=0",
                "--ws-error-highlight=none",
                "--submodule=short",
                "--ignore-submodules=dirty",
            ])
            .option("--unified", query.context_lines.min(MAX_CONTEXT).to_string())
            .word_if(query.words, "--word-diff=porcelain")
            .word_if(query.ignore_whitespace, "--ignore-all-space")
            .word(if query.renames {
                "--find-renames"
            } else {
                "--no-renames"
            })
            .word_if(query.copies, "--find-copies")
            .setting("core.bigFileThreshold", LARGE_FILE)
            // Comparing must not write the index, for which git does not ask GIT_OPTIONAL_LOCKS here.
            .setting("diff.autoRefreshIndex", "false")
            .variable("GIT_OPTIONAL_LOCKS", "0");
        let invocation = match text {
            Text::None => invocation,
            Text::Whole => invocation.word("--patch").output_limit(TEXT_LIMIT),
            Text::From(path) => invocation
                .word("--patch")
                .option("--skip-to", OsStr::from_bytes(path))
                .output_limit(TEXT_LIMIT),
        };
        sides.operands(invocation).paths(&query.paths)
    }
}

fn fingerprint(files: &[ChangedFile]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        (&file.path, &file.old_path, file.change as u8).hash(&mut hasher);
        (file.insertions, file.deletions, file.binary).hash(&mut hasher);
    }
    hasher.finish()
}

impl From<&Entry> for ChangedFile {
    fn from(entry: &Entry) -> Self {
        Self {
            path: crate::display_path(entry.path.as_bstr()),
            old_path: entry
                .old_path
                .as_ref()
                .map(|path| crate::display_path(path.as_bstr())),
            change: entry.change,
            insertions: entry.counts.map_or(0, |(insertions, _)| insertions),
            deletions: entry.counts.map_or(0, |(_, deletions)| deletions),
            binary: entry.counts.is_none(),
            left_out: false,
            patch: None,
        }
    }
}
