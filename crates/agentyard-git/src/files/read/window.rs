//! Some lines of a text that comes in pieces.

use gix::bstr::ByteSlice as _;

use super::super::content::BYTE_ORDER_MARK;
use super::{FileText, MAX_READ_BYTES, MAX_READ_LINES, ReadLine, ReadQuery};
use crate::text;

/// Keeps the lines that were asked for, as far as there is room for them.
pub(super) struct Window {
    first: u64,
    max_lines: usize,
    max_bytes: usize,
    max_line_bytes: usize,
    /// The line that the next byte belongs to.
    line: u64,
    /// What was kept of that line, and how long it is so far.
    kept: Vec<u8>,
    length: u64,
    /// How many bytes the lines have together.
    bytes: usize,
    text: FileText,
}

impl Window {
    pub(super) fn new(query: &ReadQuery) -> Self {
        Self {
            first: query.first_line.max(1),
            max_lines: query.max_lines.clamp(1, MAX_READ_LINES),
            max_bytes: query.max_bytes.min(MAX_READ_BYTES),
            max_line_bytes: query.max_line_bytes.clamp(1, MAX_READ_BYTES),
            line: 1,
            kept: Vec::new(),
            length: 0,
            bytes: 0,
            text: FileText::default(),
        }
    }

    /// Whether no further line is wanted.
    pub(super) fn is_full(&self) -> bool {
        self.text.next_line.is_some()
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && !self.is_full() {
            let end = rest.find_byte(b'\n');
            let part = &rest[..end.unwrap_or(rest.len())];
            if self.line >= self.first {
                // One byte more, since a carriage return at the end does not count.
                let room = (self.max_line_bytes + BYTE_ORDER_MARK.len() + 1).saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&part[..part.len().min(room)]);
                self.length += part.len() as u64;
            }
            let Some(end) = end else {
                return;
            };
            self.end_line(true);
            rest = &rest[end + 1..];
        }
    }

    pub(super) fn finish(mut self) -> FileText {
        if self.length > 0 && !self.is_full() {
            self.end_line(false);
        }
        self.text
    }

    fn end_line(&mut self, has_end: bool) {
        let number = self.line;
        if number < self.first {
            self.line += 1;
            return;
        }
        let mut bytes = self.kept.as_slice();
        let mut length = self.length;
        if number == 1
            && let Some(rest) = bytes.strip_prefix(BYTE_ORDER_MARK)
        {
            self.text.byte_order_mark = true;
            length -= BYTE_ORDER_MARK.len() as u64;
            bytes = rest;
        }
        if has_end
            && bytes.len() as u64 == length
            && let Some(rest) = bytes.strip_suffix(b"\r")
        {
            length -= 1;
            bytes = rest;
        }
        let shown = beginning(bytes, self.max_line_bytes);
        let full = self.text.lines.len() >= self.max_lines
            || (!self.text.lines.is_empty() && self.bytes + shown.len() > self.max_bytes);
        if full {
            self.text.next_line = Some(number);
            return;
        }
        self.bytes += shown.len() + 1;
        let line = text::escaped(shown);
        self.text.invalid_utf8 |= shown.to_str().is_err();
        self.text.escaped |= line.as_bytes() != shown && shown.to_str().is_ok();
        self.text.lines.push(ReadLine {
            number,
            text: line,
            left_out: length - shown.len() as u64,
        });
        self.line += 1;
        self.kept.clear();
        self.length = 0;
    }
}

/// The first bytes, without half a character at their end.
fn beginning(bytes: &[u8], room: usize) -> &[u8] {
    if bytes.len() <= room {
        return bytes;
    }
    let is_inside = |at: usize| bytes[at] & 0b1100_0000 == 0b1000_0000;
    let end = (room.saturating_sub(3)..=room).rev().find(|&at| !is_inside(at));
    &bytes[..end.unwrap_or(room)]
}
