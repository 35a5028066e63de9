//! `git blame`: who last changed which line.

use std::collections::HashMap;

use gix::bstr::ByteSlice as _;
use jiff::Timestamp;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::dates::timestamp;
use crate::descriptor::open_beneath;
use crate::{Error, ObjectId, RepositoryPath, Revision, Work, display_path, text};

/// Which lines of which file.
#[derive(Debug, Clone)]
pub struct BlameQuery {
    /// The file.
    pub path: RepositoryPath,
    /// The revision of the file; what is in the working tree when there is none.
    pub revision: Option<Revision>,
    /// The first line, counted from one.
    pub first_line: usize,
    /// The last line; the last of the file when there is none.
    pub last_line: Option<usize>,
    /// Changes of white space do not count.
    pub ignore_whitespace: bool,
    /// Where else lines may come from.
    pub moves: Moves,
}

/// Where lines may come from, but from the same place of the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Moves {
    /// From nowhere else.
    #[default]
    None,
    /// From elsewhere in the file.
    File,
    /// From other files that the same commit changed.
    Commit,
}

/// Lines, and who last changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blame {
    /// In the order of the file.
    pub blocks: Vec<BlameBlock>,
    /// Whether lines follow that were asked for.
    pub more: bool,
}

/// Successive lines that the same commit changed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlameBlock {
    /// The commit; none for lines that are not committed.
    pub commit: Option<ObjectId>,
    /// The commit's id, as short as this repository allows.
    pub short_id: String,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: Timestamp,
    /// The first line of its message.
    pub summary: String,
    /// The file's path in that commit, when it was another.
    pub old_path: Option<String>,
    /// The number of the first of these lines.
    pub first_line: usize,
    /// Their content, control characters made visible.
    pub lines: Vec<String>,
}

/// The most lines in one answer.
pub const MAX_BLAME_LINES: usize = 2000;

/// The most that is read of git's answer.
const OUTPUT_LIMIT: usize = 16 << 20;

impl Work<'_> {
    /// Tells who last changed the lines of a file.
    pub fn blame(&self, query: &BlameQuery) -> Result<Blame, Error> {
        let first = query.first_line.max(1);
        let last = query.last_line.unwrap_or(usize::MAX);
        if last < first {
            return Err(Error::invalid(
                format!("lines {first} to {last}"),
                "the first is after the last",
            ));
        }
        // One more than is shown, to know whether there is one.
        let wanted = last.min(first.saturating_add(MAX_BLAME_LINES));
        let revision = match &query.revision {
            Some(revision) => Some(revision.resolve_commit(&self.repository().local())?.into()),
            None if self.repository().worktree().is_none() => Some(
                Revision::head()
                    .resolve_commit(&self.repository().local())?
                    .into(),
            ),
            None => {
                self.check_file(&query.path)?;
                None
            }
        };
        let invocation = self
            .invoke("blame")
            .words(&["--porcelain", "--no-progress", "--no-abbrev", "--root"])
            .word_if(query.ignore_whitespace, "-w")
            .word_if(query.moves == Moves::File, "-M")
            .word_if(query.moves == Moves::Commit, "-C")
            .value("-L", format!("{first},{wanted}"))
            .variable("GIT_OPTIONAL_LOCKS", "0")
            .output_limit(OUTPUT_LIMIT);
        // git blame does not know `--end-of-options` before `--`; an object id is no option.
        let invocation = match &revision {
            Some(commit) => invocation.object(commit),
            None => invocation,
        };
        let finished = invocation.paths(std::slice::from_ref(&query.path)).run()?;
        let mut blame = Reader::default().read(&finished.output);
        self.finish(&mut blame, &query.path, first, last);
        blame.more |= finished.truncated;
        Ok(blame)
    }

    /// A file of the working tree, to which no link leads from elsewhere.
    fn check_file(&self, path: &RepositoryPath) -> Result<(), Error> {
        let Some(worktree) = self.repository().confined_worktree() else {
            return Ok(());
        };
        match open_beneath(
            worktree.directory(),
            path.as_path(),
            OFlags::PATH | OFlags::NOFOLLOW,
        ) {
            Ok(_) => Ok(()),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(Error::Missing {
                what: format!(
                    "{} is not in the working tree; pass `revision` to look at an older state",
                    path.shown()
                ),
            }),
            Err(_) => Err(Error::invalid(
                path.shown(),
                "a link on the way leads out of the repository",
            )),
        }
    }

    fn finish(&self, blame: &mut Blame, path: &RepositoryPath, first: usize, last: usize) {
        let local = self.repository().local();
        let shown = path.shown();
        for block in &mut blame.blocks {
            block.old_path = block.old_path.take().filter(|old| *old != shown);
            if let Some(commit) = block.commit {
                let id = gix::prelude::ObjectIdExt::attach(gix::ObjectId::from(commit), &local);
                block.short_id = id.shorten_or_id().to_string();
            }
        }
        let end = first + MAX_BLAME_LINES;
        if let Some(block) = blame.blocks.last_mut()
            && block.first_line + block.lines.len() > end
            && last >= end
        {
            block.lines.pop();
            blame.more = true;
        }
        blame.blocks.retain(|block| !block.lines.is_empty());
    }
}

/// What git says once about each commit.
#[derive(Default, Clone)]
struct Facts {
    author: String,
    seconds: i64,
    summary: String,
    path: String,
}

#[derive(Default)]
struct Reader {
    known: HashMap<Vec<u8>, Facts>,
    blocks: Vec<BlameBlock>,
    id: Vec<u8>,
    line: usize,
}

impl Reader {
    /// Reads `git blame --porcelain`: for each line `id old-line new-line [count]`, what is new about the commit,
    /// and the content after a tab.
    fn read(mut self, output: &[u8]) -> Blame {
        let mut starts = true;
        for line in output.split_inclusive(|&byte| byte == b'\n') {
            // A line that git was stopped in is not shown.
            let Some(line) = line.strip_suffix(b"\n") else {
                break;
            };
            if let Some(content) = line.strip_prefix(b"\t") {
                self.push(content);
                starts = true;
            } else if starts {
                let mut words = line.split(|&byte| byte == b' ');
                self.id = words.next().unwrap_or_default().to_vec();
                self.line = words.nth(1).and_then(number).unwrap_or_default();
                starts = false;
            } else {
                self.note(line);
            }
        }
        Blame {
            blocks: self.blocks,
            more: false,
        }
    }

    fn note(&mut self, line: &[u8]) {
        let (key, value) = line.split_once_str(b" ").unwrap_or((line, b""));
        let facts = self.known.entry(self.id.clone()).or_default();
        let shown = || text::one_line(&value.to_str_lossy()).chars().take(500).collect();
        match key {
            b"author" => facts.author = shown(),
            b"author-time" => facts.seconds = signed_number(value).unwrap_or_default(),
            b"summary" => facts.summary = shown(),
            b"filename" => facts.path = display_path(text::parse_path(&value.to_str_lossy()).as_bstr()),
            _ => {}
        }
    }

    fn push(&mut self, content: &[u8]) {
        let content = text::escaped(content);
        let commit = std::str::from_utf8(&self.id)
            .ok()
            .and_then(|id| id.parse::<ObjectId>().ok());
        let commit = commit.filter(|id| !gix::ObjectId::from(*id).is_null());
        let facts = self.known.get(&self.id).cloned().unwrap_or_default();
        let old_path = Some(facts.path);
        if let Some(block) = self.blocks.last_mut()
            && block.commit == commit
            && block.old_path == old_path
        {
            block.lines.push(content);
            return;
        }
        self.blocks.push(BlameBlock {
            commit,
            short_id: String::new(),
            author: facts.author,
            at: timestamp(facts.seconds),
            summary: facts.summary,
            old_path,
            first_line: self.line,
            lines: vec![content],
        });
    }
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn signed_number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
