//! How a diff is written: totals, files, then the text, page by page.

use std::fmt::Write as _;

use agentyard_model::Cursor;
use agentyard_services::{Change, ChangedFile, Diff, DiffPage, DiffPlace};

use crate::output::{Presentation, Reply};

/// A diff to be written.
pub(super) struct Patch {
    /// What stands before the totals on the first page.
    pub(super) head: String,
    pub(super) page: DiffPage,
    pub(super) shown: Shown,
}

/// What of a diff is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Paths alone.
    Names,
    /// Files and counts.
    Counts,
    /// Files, counts and text.
    Text,
}

impl Shown {
    pub(super) fn of(name_only: bool, stat: bool) -> Self {
        match (name_only, stat) {
            (true, _) => Self::Names,
            (false, true) => Self::Counts,
            (false, false) => Self::Text,
        }
    }
}

/// What the notices at the end of a page may take.
const NOTICE_BYTES: usize = 700;

/// How many files are listed before the text. With `stat` all of them are, page by page.
const LISTED_FILES: usize = 200;

/// What is shown of one line.
const LINE_BYTES: usize = 4000;

impl Patch {
    pub(super) fn into_reply(self, presentation: Presentation) -> Reply {
        let mut writer = Writer {
            text: String::new(),
            room: presentation.max_bytes.saturating_sub(NOTICE_BYTES),
        };
        if self.page.begun_anew {
            writer
                .text
                .push_str("[what differs has changed since the page before; this begins anew]\n");
        }
        let place = self.page.place;
        if place == DiffPlace::default() {
            writer.text.push_str(&self.head);
            writer.text.push_str(&self.totals());
        }
        let stopped = match self.shown {
            Shown::Text => self.write_text(&mut writer),
            Shown::Names | Shown::Counts => self.write_list(&mut writer),
        };
        let next = stopped.map(|(file, line)| {
            Cursor::at(DiffPlace {
                fingerprint: self.page.diff.fingerprint,
                file,
                line,
            })
        });
        if let Some(next) = &next {
            let next = next.as_str();
            writer.text.push_str(&format!(
                "[truncated: call again with cursor={next} for the rest]\n"
            ));
        }
        Reply::Text {
            text: writer.text,
            next,
        }
    }

    fn totals(&self) -> String {
        let files = &self.page.diff.files;
        if files.is_empty() {
            return "no differences\n".to_owned();
        }
        let insertions: u64 = files.iter().map(|file| file.insertions).sum();
        let deletions: u64 = files.iter().map(|file| file.deletions).sum();
        let noun = if files.len() == 1 { "file" } else { "files" };
        let mut totals = format!("{} {noun} changed, +{insertions} -{deletions}\n", files.len());
        let left_out = files.iter().filter(|file| file.left_out).count();
        if left_out > 0 && self.shown == Shown::Text {
            let _ = writeln!(
                totals,
                "[text of {left_out} generated left out, marked `excluded`; auto_exclude=false shows it]"
            );
        }
        totals
    }

    /// One line per file; where it stopped, if it did.
    fn write_list(&self, writer: &mut Writer) -> Option<(usize, usize)> {
        let files = self.page.diff.files.iter().enumerate();
        for (number, file) in files.skip(self.page.place.file) {
            let line = match self.shown {
                Shown::Names => format!("{}\n", file.path),
                Shown::Counts | Shown::Text => count_line(file, false),
            };
            if !writer.fits(line.len()) {
                return Some((number, 0));
            }
            writer.text.push_str(&line);
        }
        None
    }

    fn write_text(&self, writer: &mut Writer) -> Option<(usize, usize)> {
        let (diff, place) = (&self.page.diff, self.page.place);
        if place == DiffPlace::default() {
            for file in diff.files.iter().take(LISTED_FILES) {
                writer.text.push_str(&count_line(file, true));
            }
            if diff.files.len() > LISTED_FILES {
                let more = diff.files.len() - LISTED_FILES;
                let _ = writeln!(writer.text, "[{more} more files: stat=true lists all]");
            }
        }
        let empty = writer.text.len();
        for (number, file) in diff.files.iter().enumerate().skip(place.file) {
            if diff.reached == Some(number) {
                return Some((number, 0));
            }
            let first_line = if number == place.file { place.line } else { 0 };
            let Some(patch) = &file.patch else { continue };
            // A file that fits on a page of its own is not torn.
            let page_has_text = writer.text.len() > empty;
            if page_has_text && !writer.fits(patch.len()) && patch.len() < writer.room {
                return Some((number, 0));
            }
            if let Some(line) = writer.write_patch(file, patch, first_line) {
                return Some((number, line));
            }
        }
        None
    }
}

/// A whole diff as text: files, then their changes.
pub(super) fn whole(diff: &Diff) -> String {
    let mut text = String::new();
    for file in diff.files.iter().take(LISTED_FILES) {
        text.push_str(&count_line(file, true));
    }
    for patch in diff.files.iter().filter_map(|file| file.patch.as_ref()) {
        text.push_str(patch);
    }
    text
}

struct Writer {
    text: String,
    room: usize,
}

impl Writer {
    fn fits(&self, bytes: usize) -> bool {
        self.text.len() + bytes <= self.room
    }

    /// Writes a file's part from a line on. Answers with the line at which there was no room left.
    fn write_patch(&mut self, file: &ChangedFile, patch: &str, first_line: usize) -> Option<usize> {
        if first_line > 0 {
            let hunk = patch
                .lines()
                .take(first_line)
                .filter(|line| line.starts_with("@@ "))
                .last();
            let _ = writeln!(
                self.text,
                "[{} goes on, in {}]",
                file.path,
                hunk.unwrap_or("its header")
            );
        }
        for (number, line) in patch.split_inclusive('\n').enumerate().skip(first_line) {
            let shown = &line[..line.floor_char_boundary(LINE_BYTES)];
            // At least one line is written, so that every page leads on.
            if number > first_line && !self.fits(shown.len() + 40) {
                return Some(number);
            }
            self.text.push_str(shown);
            if shown.len() < line.len() {
                let _ = writeln!(self.text, "[+{} bytes in this line]", line.len() - shown.len());
            }
        }
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        None
    }
}

fn count_line(file: &ChangedFile, with_text: bool) -> String {
    let letter = match file.change {
        Change::Added => 'A',
        Change::Modified => 'M',
        Change::Deleted => 'D',
        Change::Renamed => 'R',
        Change::Copied => 'C',
        Change::TypeChanged => 'T',
        Change::Conflicted => 'U',
        Change::Untracked => '?',
    };
    let old = file
        .old_path
        .as_ref()
        .map(|old| format!("{old} -> "))
        .unwrap_or_default();
    let counts = match file.binary {
        true => "binary".to_owned(),
        false => format!("+{} -{}", file.insertions, file.deletions),
    };
    let excluded = if file.left_out && with_text {
        " excluded"
    } else {
        ""
    };
    format!("{letter} {old}{} {counts}{excluded}\n", file.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;

    fn file(name: &str, lines: usize) -> ChangedFile {
        let text: String = (0..lines).map(|number| format!("+line {number:04}\n")).collect();
        ChangedFile {
            path: name.to_owned(),
            insertions: lines as u64,
            patch: Some(format!("diff --git a/{name} b/{name}\n@@ -0,0 +1 @@\n{text}")),
            ..ChangedFile::default()
        }
    }

    fn pages(files: Vec<ChangedFile>, max_bytes: usize) -> Vec<String> {
        let mut pages = Vec::new();
        let mut place = DiffPlace::default();
        loop {
            let patch = Patch {
                head: "repo: ".to_owned(),
                page: DiffPage {
                    diff: Diff {
                        files: files.clone(),
                        fingerprint: 9,
                        reached: None,
                    },
                    place,
                    begun_anew: false,
                },
                shown: Shown::Text,
            };
            let presentation = Presentation {
                level: Level::Full,
                max_bytes,
            };
            let Reply::Text { text, next } = patch.into_reply(presentation) else {
                panic!("text");
            };
            assert!(text.len() <= max_bytes, "{}", text.len());
            pages.push(text);
            match next {
                Some(next) => place = next.place().unwrap(),
                None => return pages,
            }
        }
    }

    #[test]
    fn small_files_stay_whole_and_large_ones_go_on() {
        let files = vec![file("a", 20), file("b", 50), file("c", 300)];
        let pages = pages(files.clone(), 1600);
        assert!(
            pages[0].starts_with("repo: 3 files changed, +370 -0\nM a +20 -0\n"),
            "{}",
            pages[0]
        );
        assert!(!pages[0].contains("diff --git a/b"), "{}", pages[0]);
        assert!(pages[1].starts_with("diff --git a/b b/b\n"), "{}", pages[1]);
        let joined = pages.concat();
        let lines: Vec<&str> = joined.lines().filter(|line| line.starts_with('+')).collect();
        let all: String = files.iter().filter_map(|file| file.patch.clone()).collect();
        let expected: Vec<&str> = all.lines().filter(|line| line.starts_with('+')).collect();
        assert_eq!(lines, expected, "nothing is lost or shown twice");
        assert!(joined.contains("[c goes on, in @@ -0,0 +1 @@]"));
    }
}
