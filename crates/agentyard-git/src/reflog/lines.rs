//! A file read from its end, line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use gix::bstr::ByteSlice as _;

/// The lines of a file, last one first. A log grows at its end, and mostly that is all anybody wants.
pub(super) struct LinesFromEnd {
    file: File,
    /// What lies before this was not read yet.
    position: u64,
    /// What was read and not given out yet.
    pending: Vec<u8>,
}

const CHUNK: u64 = 64 * 1024;

/// No line is longer. The file ends, that is, begins, with one that is.
const MAX_LINE: usize = 1 << 20;

impl LinesFromEnd {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let position = file.metadata()?.len();
        Ok(Self {
            file,
            position,
            pending: Vec::new(),
        })
    }

    /// The line before the one given out last, without its line feed.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let end = self.pending.len() - usize::from(self.pending.ends_with(b"\n"));
            if let Some(newline) = self.pending[..end].rfind_byte(b'\n') {
                let line = self.pending[newline + 1..end].to_vec();
                self.pending.truncate(newline + 1);
                return Ok(Some(line));
            }
            if end > MAX_LINE {
                return Ok(None);
            }
            if self.position == 0 {
                let is_empty = self.pending.is_empty();
                self.pending.truncate(end);
                let line = std::mem::take(&mut self.pending);
                return Ok((!is_empty).then_some(line));
            }
            self.read_chunk()?;
        }
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        let length = self.position.min(CHUNK);
        let mut chunk = vec![0; usize::try_from(length).unwrap_or_default()];
        self.position -= length;
        self.file.read_exact_at(&mut chunk, self.position)?;
        chunk.append(&mut self.pending);
        self.pending = chunk;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(content: &[u8]) -> Vec<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut lines = LinesFromEnd::new(file).unwrap();
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn lines_come_last_first() {
        assert_eq!(lines(b""), [b""; 0]);
        assert_eq!(lines(b"a"), [b"a"]);
        assert_eq!(lines(b"a\nbc\n"), [&b"bc"[..], b"a"]);
        assert_eq!(lines(b"\n\nx"), [&b"x"[..], b"", b""]);
    }

    #[test]
    fn lines_may_be_cut_by_chunks() {
        let long = vec![b'x'; 3 * 64 * 1024 / 2];
        let content = [&long[..], b"\nshort\n", &long, b"\n"].concat();
        assert_eq!(lines(&content), [&long[..], b"short", &long]);
    }

    #[test]
    fn a_line_without_end_ends_the_file() {
        let content = [&vec![b'x'; MAX_LINE + (1 << 17)][..], b"\nlast\n"].concat();
        assert_eq!(lines(&content), [b"last"]);
    }
}
