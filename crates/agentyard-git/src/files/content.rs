//! What kind of content a file has.

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEndings {
    /// With a line feed; also where there is no line end at all.
    #[default]
    Lf,
    /// With carriage return and line feed, all of them.
    CrLf,
    /// Some so, some so.
    Mixed,
}

/// git takes a file for binary when there is a NUL among these first bytes.
pub(super) const BINARY_WINDOW: usize = 8000;

/// What some editors put before a text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Counts the line ends of a content that comes in pieces.
#[derive(Default)]
pub(super) struct LineEndCounter {
    line_feeds: u64,
    pairs: u64,
    last: Option<u8>,
}

impl LineEndCounter {
    pub(super) fn add(&mut self, piece: &[u8]) {
        for (at, _) in piece.iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
            self.line_feeds += 1;
            let before = if at == 0 { self.last } else { Some(piece[at - 1]) };
            self.pairs += u64::from(before == Some(b'\r'));
        }
        self.last = piece.last().copied().or(self.last);
    }

    pub(super) fn endings(&self) -> LineEndings {
        match self.pairs {
            0 => LineEndings::Lf,
            pairs if pairs == self.line_feeds => LineEndings::CrLf,
            _ => LineEndings::Mixed,
        }
    }

    /// How many lines there are, a last one without an end included.
    pub(super) fn lines(&self) -> u64 {
        self.line_feeds + u64::from(self.last.is_some_and(|byte| byte != b'\n'))
    }

    /// Whether the content ends as a text should, or is empty.
    pub(super) fn ends_with_newline(&self) -> bool {
        self.last.is_none_or(|byte| byte == b'\n')
    }
}

pub(super) fn line_endings(content: &[u8]) -> LineEndings {
    let mut counter = LineEndCounter::default();
    counter.add(content);
    counter.endings()
}

/// Whether a file that begins like this is binary.
pub(super) fn is_binary(beginning: &[u8]) -> bool {
    beginning[..beginning.len().min(BINARY_WINDOW)].contains(&0)
}

/// What a binary file is, by its first bytes.
pub(super) fn media_type(beginning: &[u8]) -> &'static str {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"BM", "image/bmp"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"BZh", "application/x-bzip2"),
        (b"\xfd7zXZ\0", "application/x-xz"),
        (b"\x28\xb5\x2f\xfd", "application/zstd"),
        (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
        (b"\x7fELF", "application/x-elf"),
        (b"\0asm", "application/wasm"),
        (b"\xca\xfe\xba\xbe", "application/java-vm"),
        (b"MZ", "application/vnd.microsoft.portable-executable"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
        (b"wOFF", "font/woff"),
        (b"wOF2", "font/woff2"),
        (b"\0\0\x01\0", "image/x-icon"),
        (b"\xff\xfe", "text/plain; charset=utf-16le"),
        (b"\xfe\xff", "text/plain; charset=utf-16be"),
    ];
    if beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    let known = SIGNATURES
        .iter()
        .find(|(signature, _)| beginning.starts_with(signature));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_counted_across_pieces() {
        let counted = |pieces: &[&[u8]]| {
            let mut counter = LineEndCounter::default();
            pieces.iter().for_each(|piece| counter.add(piece));
            (counter.endings(), counter.lines(), counter.ends_with_newline())
        };
        assert_eq!(counted(&[b"a\r", b"\nb\r\n"]), (LineEndings::CrLf, 2, true));
        assert_eq!(counted(&[b"a\n", b"", b"b\r\nc"]), (LineEndings::Mixed, 3, false));
        assert_eq!(counted(&[b"a\rb\n"]), (LineEndings::Lf, 1, true));
        assert_eq!(counted(&[]), (LineEndings::Lf, 0, true));
    }

    #[test]
    fn a_binary_file_is_told_by_its_beginning() {
        assert!(is_binary(b"a\0b") && !is_binary(b"text") && !is_binary(b""));
        assert!(!is_binary(&[&[b'a'; BINARY_WINDOW][..], &[0]].concat()));
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\n..."), "image/png");
        assert_eq!(media_type(b"RIFF....WEBPVP8"), "image/webp");
        assert_eq!(media_type(b"\0\0\0"), "application/octet-stream");
    }
}
