//! Several files in one body, as `multipart/form-data` has them, read as they come.
//!
//! It is our own reading because those that exist take in whatever the other side has ready: a body that was compressed
//! would then be in memory as a whole. Here no more is kept than what came last and what may be the beginning of a
//! boundary.

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memmem::Finder;

/// How long the lines above a file may be.
const MOST_HEAD_BYTES: usize = 16 * 1024;

/// How long a boundary may be, as is agreed everywhere.
const LONGEST_BOUNDARY: usize = 70;

/// A piece of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part begins.
    Begin(Head),
    /// Some of what it holds.
    Data(Bytes),
    /// It is over.
    End,
    /// There is no further part.
    Last,
}

/// What stands above a part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The field's name.
    pub(super) name: Option<String>,
    /// The file's name, with its directories if it has any.
    pub(super) filename: Option<String>,
}

/// Takes a body apart.
#[derive(Debug)]
pub(super) struct Multipart {
    /// A line's end, two dashes, and the boundary.
    delimiter: Finder<'static>,
    buffer: BytesMut,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first part.
    Preamble,
    /// After a boundary.
    Boundary,
    /// Above a part.
    Head,
    /// In a part.
    Body,
    /// After the last part.
    Over,
}

impl Multipart {
    /// For a body with this content type; none if it names no boundary.
    pub(super) fn new(content_type: &str) -> Option<Self> {
        let (_, parameters) = content_type.split_once(';')?;
        let boundary = parameter(parameters, "boundary")
            .filter(|boundary| (1..=LONGEST_BOUNDARY).contains(&boundary.len()))?;
        let delimiter = format!("\r\n--{boundary}");
        Some(Self {
            delimiter: Finder::new(delimiter.as_bytes()).into_owned(),
            // The first boundary may be on the first line.
            buffer: BytesMut::from("\r\n"),
            state: State::Preamble,
        })
    }

    /// Takes what came in.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next piece, when it is there.
    pub(super) fn next_piece(&mut self) -> Result<Option<Piece>, &'static str> {
        loop {
            match self.state {
                State::Preamble => {
                    let Some(before) = self.delimiter.find(&self.buffer) else {
                        self.possible_data();
                        return Ok(None);
                    };
                    self.buffer.advance(before + self.delimiter.needle().len());
                    self.state = State::Boundary;
                }
                State::Boundary => match self.buffer.get(..2) {
                    None => return Ok(None),
                    Some(b"--") => {
                        self.state = State::Over;
                        return Ok(Some(Piece::Last));
                    }
                    // The line's end stays: above a part there may be nothing at all.
                    Some(b"\r\n") => self.state = State::Head,
                    Some([b' ' | b'\t', _]) => self.buffer.advance(1),
                    Some(_) => return Err("a boundary is not at the end of its line"),
                },
                State::Head => return self.head(),
                State::Body => {
                    if let Some(before) = self.delimiter.find(&self.buffer) {
                        if before > 0 {
                            return Ok(Some(Piece::Data(self.buffer.split_to(before).freeze())));
                        }
                        self.buffer.advance(self.delimiter.needle().len());
                        self.state = State::Boundary;
                        return Ok(Some(Piece::End));
                    }
                    return Ok(self.possible_data().map(Piece::Data));
                }
                State::Over => {
                    self.buffer.clear();
                    return Ok(None);
                }
            }
        }
    }

    /// All that cannot be the beginning of a boundary.
    fn possible_data(&mut self) -> Option<Bytes> {
        let data = self
            .buffer
            .len()
            .saturating_sub(self.delimiter.needle().len() - 1);
        (data > 0).then(|| self.buffer.split_to(data).freeze())
    }

    fn head(&mut self) -> Result<Option<Piece>, &'static str> {
        let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") else {
            if self.buffer.len() > MOST_HEAD_BYTES {
                return Err("the lines above a part are more than 16 KiB");
            }
            return Ok(None);
        };
        if end > MOST_HEAD_BYTES {
            return Err("the lines above a part are more than 16 KiB");
        }
        let lines = self.buffer.split_to(end);
        self.buffer.advance(4);
        self.state = State::Body;
        let lines = std::str::from_utf8(&lines).map_err(|_| "the lines above a part are not UTF-8")?;
        let mut head = Head::default();
        for line in lines.split("\r\n") {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            if let Some((_, parameters)) = value.split_once(';')
                && key.trim().eq_ignore_ascii_case("content-disposition")
            {
                head.name = parameter(parameters, "name");
                head.filename = parameter(parameters, "filename*")
                    .and_then(|value| extended(&value))
                    .or_else(|| parameter(parameters, "filename"));
            }
        }
        Ok(Some(Piece::Begin(head)))
    }
}

/// The value of one of `a=b; c="d"`.
fn parameter(parameters: &str, wanted: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let (key, after) = rest.split_once('=')?;
        let (value, after) = value(after);
        if key.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after;
    }
}

/// A value that may be quoted, and what stands after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(';').unwrap_or((text, ""));
        return (value.trim().to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return (value, quoted.get(place + 1..).unwrap_or_default()),
            // Only what must be escaped is: some clients write other backslashes as they are.
            '\\' if quoted
                .get(place + 1..)
                .is_some_and(|rest| rest.starts_with(['"', '\\'])) =>
            {
                value.extend(characters.next().map(|(_, escaped)| escaped));
            }
            character => value.push(character),
        }
    }
    (value, "")
}

/// A value like `utf-8''na%C3%AFve.txt`.
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, text) = rest.split_once('\'')?;
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let text = percent_encoding::percent_decode_str(text).decode_utf8().ok()?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=XX";

    /// Name, file name and content of each part, read in pieces of this size.
    fn parts(body: &[u8], size: usize) -> Result<Vec<(Head, Vec<u8>)>, &'static str> {
        let mut multipart = Multipart::new(TYPE).unwrap();
        let mut parts: Vec<(Head, Vec<u8>)> = Vec::new();
        let mut ended = false;
        let mut open = false;
        for bytes in body.chunks(size) {
            multipart.push(bytes);
            while let Some(piece) = multipart.next_piece()? {
                assert!(!ended);
                match piece {
                    Piece::Begin(head) => {
                        assert!(!open);
                        open = true;
                        parts.push((head, Vec::new()));
                    }
                    Piece::Data(bytes) => parts.last_mut().unwrap().1.extend(bytes),
                    Piece::End => open = false,
                    Piece::Last => ended = true,
                }
            }
        }
        assert!(ended && !open);
        Ok(parts)
    }

    fn file(name: &str, content: &[u8]) -> (Head, Vec<u8>) {
        let head = Head {
            name: Some("file".to_owned()),
            filename: Some(name.to_owned()),
        };
        (head, content.to_vec())
    }

    #[test]
    fn parts_are_the_same_in_whatever_pieces_they_come() {
        let body = b"nobody reads this\r\n--XX\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"/a b/c.txt\"\r\n\
            Content-Type: text/plain\r\n\r\n\
            one\r\n--X\r\ntwo\r\n\r\n--XX  \r\n\
            content-disposition: form-data; filename=d; name=file\r\n\r\n\
            \r\n--XX\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"x\"; filename*=UTF-8''n%C3%AFe\r\n\r\n\
            \0\xff\r\n--XX--\r\nnor this";
        let expected = vec![
            file("/a b/c.txt", b"one\r\n--X\r\ntwo\r\n"),
            file("d", b""),
            file("n\u{ef}e", b"\0\xff"),
        ];
        for size in [1, 2, 3, 7, 64, body.len()] {
            assert_eq!(parts(body, size).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn names_are_read_as_clients_write_them() {
        let name = |text: &str| parameter(&format!(" name=\"file\"; filename={text}"), "filename");
        assert_eq!(name(r#""a\"b\\c""#).unwrap(), r#"a"b\c"#);
        assert_eq!(name(r#""C:\dir\file""#).unwrap(), r"C:\dir\file");
        assert_eq!(name(r#""a;b=c""#).unwrap(), "a;b=c");
        assert_eq!(name("plain ; x=y").unwrap(), "plain");
        assert_eq!(parameter(" name=x", "filename"), None);
    }

    #[test]
    fn what_is_not_to_be_understood_is_refused() {
        for body in [
            "--XXY\r\n\r\n".to_owned(),
            format!("--XX\r\na: {}", "b".repeat(20_000)),
        ] {
            let mut multipart = Multipart::new(TYPE).unwrap();
            multipart.push(body.as_bytes());
            assert!(multipart.next_piece().is_err(), "{body}");
        }
        let long = format!("multipart/form-data; boundary={}", "a".repeat(71));
        for content_type in ["multipart/form-data", "multipart/form-data; boundary=", &long] {
            assert!(Multipart::new(content_type).is_none(), "{content_type}");
        }
        assert!(Multipart::new("multipart/form-data; charset=x; boundary=\"a b\"").is_some());
    }

    #[test]
    fn little_is_kept_of_a_long_part() {
        let mut multipart = Multipart::new(TYPE).unwrap();
        multipart.push(b"--XX\r\n\r\n");
        assert!(matches!(multipart.next_piece(), Ok(Some(Piece::Begin(_)))));
        let mut received = 0;
        for _ in 0..100 {
            multipart.push(&[b'a'; 10_000]);
            while let Some(Piece::Data(data)) = multipart.next_piece().unwrap() {
                received += data.len();
            }
            assert!(multipart.buffer.len() < 10);
        }
        assert_eq!(received, 1_000_000 - multipart.buffer.len());
    }
}
