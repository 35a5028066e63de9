//! What an edit changed, as a unified diff.

use std::io;

use gix::bstr::ByteSlice as _;
use gix::diff::blob::unified_diff::{ConsumeHunk, ContextSize, DiffLineKind, HunkHeader};
use gix::diff::blob::{Algorithm, Diff, InternedInput, UnifiedDiff};

use crate::text;

pub(super) struct Difference {
    pub(super) added: u32,
    pub(super) removed: u32,
    pub(super) text: String,
    /// The text is longer.
    pub(super) cut: bool,
}

/// Enough to see that the right thing was changed.
const MAX_TEXT: usize = 8 << 10;

const CONTEXT_LINES: u32 = 2;

impl Difference {
    pub(super) fn between(before: &[u8], after: &[u8]) -> Self {
        let (before, after) = (shown(before), shown(after));
        let input = InternedInput::new(before.as_str(), after.as_str());
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let hunks = UnifiedDiff::new(
            &diff,
            &input,
            Beginning::default(),
            ContextSize::symmetrical(CONTEXT_LINES),
        );
        // Nothing in it can fail: it is written to memory.
        let Beginning { text, cut } = hunks.consume().unwrap_or_default();
        Self {
            added: diff.count_additions(),
            removed: diff.count_removals(),
            text,
            cut,
        }
    }
}

/// The first hunks, down to the last whole line that there is room for.
#[derive(Default)]
struct Beginning {
    text: String,
    cut: bool,
}

impl Beginning {
    fn add(&mut self, line: &str) {
        self.cut |= self.text.len() + line.len() + 1 > MAX_TEXT;
        if !self.cut {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }
}

impl ConsumeHunk for Beginning {
    type Out = Self;

    fn consume_hunk(&mut self, header: HunkHeader, lines: &[(DiffLineKind, &[u8])]) -> io::Result<()> {
        self.add(&header.to_string());
        for (kind, line) in lines {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            self.add(&format!("{}{}", kind.to_prefix(), line.to_str_lossy()));
        }
        Ok(())
    }

    fn finish(self) -> Self {
        self
    }
}

/// The content as it can be shown, with LF for CRLF.
fn shown(content: &[u8]) -> String {
    text::escaped(&content.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_those_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let difference =
            Difference::between(before.as_bytes(), before.replace("5", "five\r\nV\x1b").as_bytes());
        assert_eq!(
            difference.text,
            "@@ -3,5 +3,6 @@\n 3\n 4\n-5\n+five\n+V\\x1b\n 6\n 7\n"
        );
        assert_eq!(
            (difference.added, difference.removed, difference.cut),
            (2, 1, false)
        );
    }

    #[test]
    fn a_long_diff_is_cut_after_a_line() {
        let (before, after) = ("a\n".repeat(10_000), "b\n".repeat(10_000));
        let difference = Difference::between(before.as_bytes(), after.as_bytes());
        assert!(difference.cut && difference.text.len() <= MAX_TEXT && difference.text.ends_with("-a\n"));
        assert_eq!((difference.added, difference.removed), (10_000, 10_000));
    }
}
