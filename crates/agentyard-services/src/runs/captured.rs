//! What a command said, for a reader who has room for some of it.

use agentyard_sandbox::Stream;

use super::log::Log;
use super::plain::PlainText;

/// How much of the beginning is shown when not all is.
const HEAD_BYTES: usize = 4 * 1024;

/// How much of the end is shown: that is where commands say what came of it.
const TAIL_BYTES: usize = 16 * 1024;

/// What a command said: text without escape sequences; of much, the beginning and the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning, or all of it.
    pub head: String,
    /// The end, when something between the two is left out.
    pub tail: String,
    /// How many bytes are left out between the two.
    pub left_out_bytes: u64,
}

impl Captured {
    /// What was said on a stream after an event.
    pub(super) fn of(log: &Log, stream: Stream, after: u64) -> Self {
        let mut plain = PlainText::default();
        let (mut text, mut gap) = (String::new(), Gap::default());
        let mut position = log.position(stream, after);
        for (offset, said) in log.said_after(stream, after) {
            if offset > position {
                gap = Gap {
                    at: Some(text.len()),
                    bytes: offset - position,
                };
            }
            position = offset + said.len() as u64;
            text.push_str(&plain.push(said));
        }
        Self::cut(&text, gap, HEAD_BYTES, TAIL_BYTES)
    }

    /// The same within so many bytes.
    #[must_use]
    pub fn within(&self, bytes: usize) -> Self {
        let gap = Gap {
            at: (self.left_out_bytes > 0).then_some(self.head.len()),
            bytes: self.left_out_bytes,
        };
        let head = bytes / 4;
        Self::cut(&format!("{}{}", self.head, self.tail), gap, head, bytes - head)
    }

    /// How many bytes are shown.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.left_out_bytes == 0
    }

    /// Cuts text in the middle, and at its gap.
    fn cut(text: &str, gap: Gap, head_bytes: usize, tail_bytes: usize) -> Self {
        if gap.at.is_none() && text.len() <= head_bytes + tail_bytes {
            return Self {
                head: as_shown(text),
                ..Self::default()
            };
        }
        let head_end = text.floor_char_boundary(head_bytes.min(gap.at.unwrap_or(head_bytes)));
        let tail_start = text.len().saturating_sub(tail_bytes);
        let tail_start = tail_start.max(gap.at.unwrap_or(head_end)).max(head_end);
        let tail_start = text.ceil_char_boundary(tail_start);
        Self {
            head: as_shown(&text[..head_end]),
            tail: as_shown(&text[tail_start..]),
            left_out_bytes: gap.bytes + (tail_start - head_end) as u64,
        }
    }
}

/// What is missing in a text.
#[derive(Debug, Clone, Copy, Default)]
struct Gap {
    /// Where, when something is.
    at: Option<usize>,
    /// How much.
    bytes: u64,
}

/// Lines as a terminal would leave them: what a carriage return went back over is gone.
fn as_shown(text: &str) -> String {
    if !text.contains('\r') {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, ""),
        };
        let content = content.trim_end_matches('\r');
        let last = content.rsplit('\r').next().unwrap_or_default();
        format!("{last}{end}")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::log::RunHappening;

    fn log_of(pieces: &[(Stream, &str)]) -> Log {
        let mut log = Log::default();
        for (stream, text) in pieces {
            log.push(RunHappening::said(*stream, (*text).to_owned()));
        }
        log
    }

    #[test]
    fn streams_are_told_apart_and_what_was_seen_is_not_repeated() {
        let log = log_of(&[
            (Stream::Stdout, "one\n"),
            (Stream::Stderr, "oh\n"),
            (Stream::Stdout, "two\n"),
        ]);
        assert_eq!(Captured::of(&log, Stream::Stdout, 0).head, "one\ntwo\n");
        assert_eq!(Captured::of(&log, Stream::Stdout, 2).head, "two\n");
        assert_eq!(Captured::of(&log, Stream::Stderr, 0).head, "oh\n");
        assert!(Captured::of(&log, Stream::Stderr, 3).is_empty());
    }

    #[test]
    fn of_much_output_the_beginning_and_the_end_are_shown() {
        let text: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
        let captured = Captured::of(&log_of(&[(Stream::Stdout, &text)]), Stream::Stdout, 0);
        assert!(captured.head.starts_with("line 0\n"));
        assert!(captured.tail.ends_with("line 9999\n"));
        assert_eq!(captured.len() as u64 + captured.left_out_bytes, text.len() as u64);
        assert_eq!(captured.len(), HEAD_BYTES + TAIL_BYTES);
        let smaller = captured.within(100);
        assert_eq!(smaller.len(), 100);
        assert_eq!(smaller.len() as u64 + smaller.left_out_bytes, text.len() as u64);
        assert_eq!(captured.within(1 << 20), captured);
    }

    #[test]
    fn what_is_not_kept_any_more_counts_as_left_out() {
        let mut log = Log::default();
        let piece = "x".repeat(60_000);
        for _ in 0..200 {
            log.push(RunHappening::said(Stream::Stdout, piece.clone()));
        }
        let captured = Captured::of(&log, Stream::Stdout, 0);
        assert_eq!(captured.len() as u64 + captured.left_out_bytes, 12_000_000);
        assert_eq!(
            Captured::of(&log, Stream::Stdout, 199).left_out_bytes,
            40_000 - 480
        );
    }

    #[test]
    fn progress_bars_leave_their_last_state() {
        let log = log_of(&[(Stream::Stderr, " 10%\r 50%\r100%\r\ndone\r\n")]);
        assert_eq!(Captured::of(&log, Stream::Stderr, 0).head, "100%\ndone\n");
    }
}
