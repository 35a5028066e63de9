//! The lines that a searcher comes upon.

use std::io;

use gix::bstr::ByteSlice as _;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::{FileMatches, MAX_FOUND, SearchMode, SearchedLine};
use crate::text;

/// How much of a line is shown, and how much of that before the match.
const SHOWN_BYTES: usize = 400;
const SHOWN_BEFORE: usize = 100;

/// Collects what is found in one file.
pub(super) struct Lines<'a> {
    matcher: &'a RegexMatcher,
    mode: SearchMode,
    /// Lines up to this one were told on a page before.
    told: u64,
    pub(super) found: FileMatches,
    pub(super) is_binary: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, mode: SearchMode, told: u64) -> Self {
        Self {
            matcher,
            mode,
            told,
            found: FileMatches::default(),
            is_binary: false,
        }
    }

    fn add(&mut self, number: Option<u64>, line: &[u8], matches: bool) {
        let number = number.unwrap_or_default();
        if number <= self.told {
            return;
        }
        self.found.count += u64::from(matches);
        if self.mode == SearchMode::Lines {
            let line = line.trim_end_with(|character| matches!(character, '\n' | '\r'));
            let shown = if matches {
                self.around_match(line)
            } else {
                from(line, 0)
            };
            self.found.lines.push(SearchedLine {
                number,
                text: text::escaped(shown),
                matches,
                cut: shown.len() < line.len(),
            });
        }
    }

    /// Whether anything further of the file is of interest.
    fn goes_on(&self) -> bool {
        match self.mode {
            SearchMode::Lines => self.found.count <= MAX_FOUND as u64,
            SearchMode::Files => self.found.count == 0,
            SearchMode::Counts => true,
        }
    }

    fn around_match<'line>(&self, line: &'line [u8]) -> &'line [u8] {
        if line.len() <= SHOWN_BYTES {
            return line;
        }
        let start = match self.matcher.find(line) {
            Ok(Some(found)) => found.start(),
            _ => 0,
        };
        from(line, start.saturating_sub(SHOWN_BEFORE))
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.add(found.line_number(), found.bytes(), true);
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.add(context.line_number(), context.bytes(), false);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

/// Leaves out what is beyond so many matching lines or bytes; false when something was.
pub(super) fn keep(found: &mut FileMatches, max_matches: usize, max_bytes: usize) -> bool {
    let (mut matches, mut bytes) = (0, 0);
    let end = found.lines.iter().position(|line| {
        let is_beyond = matches >= max_matches && line.matches || bytes > max_bytes;
        matches += usize::from(line.matches);
        bytes += line.text.len();
        is_beyond
    });
    let Some(end) = end else {
        return true;
    };
    found.lines.truncate(end);
    // Lines before a match that is left out belong to the next page.
    while found.lines.last().is_some_and(|line| !line.matches) {
        found.lines.pop();
    }
    found.count = found.lines.iter().filter(|line| line.matches).count() as u64;
    false
}

/// A part of a line that is short enough, without half a character at its ends.
fn from(line: &[u8], start: usize) -> &[u8] {
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    let start = (start..line.len())
        .find(|&at| !is_inside(at))
        .unwrap_or(line.len());
    let mut end = (start + SHOWN_BYTES).min(line.len());
    while end > start && is_inside(end) {
        end -= 1;
    }
    &line[start..end]
}
