//! Text that is read by line numbers.

use agentyard_model::Cursor;

use crate::output::{Presentation, Reply};

/// Numbered lines, of which some are wanted.
pub(super) struct Lines {
    /// What stands above them.
    pub(super) head: String,
    pub(super) text: String,
    /// The first line that is wanted, counted from one.
    pub(super) first: Option<usize>,
    /// The last one.
    pub(super) last: Option<usize>,
}

/// What the notice at the end may take.
const NOTICE_BYTES: usize = 200;

/// What is shown of one line.
const LINE_BYTES: usize = 4000;

impl Lines {
    /// As many lines as fit, and with which line the rest begins.
    pub(super) fn into_reply(self, presentation: Presentation) -> Reply {
        let room = presentation.max_bytes.saturating_sub(NOTICE_BYTES);
        let total = self.text.split_inclusive('\n').count();
        let first = self.first.unwrap_or(1).max(1);
        let last = self.last.unwrap_or(total).min(total);
        let mut text = self.head;
        if (first, last) != (1, total) {
            text.push_str(&format!("[lines {first} to {last} of {total}]\n"));
        }
        let mut stopped = None;
        let wanted = (last + 1).saturating_sub(first);
        for (offset, line) in self
            .text
            .split_inclusive('\n')
            .skip(first - 1)
            .take(wanted)
            .enumerate()
        {
            let shown = &line[..line.floor_char_boundary(LINE_BYTES)];
            if offset > 0 && text.len() + shown.len() + 40 > room {
                stopped = Some(first + offset);
                break;
            }
            text.push_str(shown);
            if shown.len() < line.len() {
                text.push_str(&format!("[+{} bytes in this line]\n", line.len() - shown.len()));
            }
        }
        if !text.ends_with('\n') {
            text.push_str("\n[no newline at the end]\n");
        }
        if let Some(next) = stopped {
            text.push_str(&format!(
                "[truncated at {total} lines: call again with start_line={next}]\n"
            ));
        }
        Reply::Text {
            text,
            next: None::<Cursor>,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;

    fn shown(first: Option<usize>, last: Option<usize>, max_bytes: usize) -> String {
        let lines = Lines {
            head: "head\n".to_owned(),
            text: (1..=100).map(|number| format!("line {number}\n")).collect(),
            first,
            last,
        };
        let presentation = Presentation {
            level: Level::Full,
            max_bytes,
        };
        match lines.into_reply(presentation) {
            Reply::Text { text, .. } => text,
            Reply::Structured { .. } => panic!("text"),
        }
    }

    #[test]
    fn a_window_is_cut_out() {
        assert_eq!(
            shown(Some(99), None, 10_000),
            "head\n[lines 99 to 100 of 100]\nline 99\nline 100\n"
        );
        assert_eq!(
            shown(Some(3), Some(3), 10_000),
            "head\n[lines 3 to 3 of 100]\nline 3\n"
        );
        assert_eq!(
            shown(Some(300), None, 10_000),
            "head\n[lines 300 to 100 of 100]\n"
        );
        assert_eq!(shown(Some(5), Some(2), 10_000), "head\n[lines 5 to 2 of 100]\n");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let text = shown(None, None, 500);
        assert!(text.len() <= 500);
        let last: usize = text
            .lines()
            .filter_map(|line| line.strip_prefix("line ")?.parse().ok())
            .max()
            .unwrap();
        assert!(
            text.ends_with(&format!("call again with start_line={}]\n", last + 1)),
            "{text}"
        );
    }
}
