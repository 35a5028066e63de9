//! Files are read: a window of lines, or of bytes.

mod window;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::atomic::AtomicBool;

use sha2::{Digest as _, Sha256};

use self::window::Window;
use super::FileTree;
use super::content::{BINARY_WINDOW, LineEndCounter, LineEndings, is_binary, media_type};
use super::hash::FileHash;
use super::place::failed;
use crate::error::check_cancelled;
use crate::{Error, RepositoryPath};

/// Which lines of a file are wanted.
#[derive(Clone, Debug)]
pub struct ReadQuery {
    /// The first line, counted from one.
    pub first_line: u64,
    /// So many lines at most, up to [`MAX_READ_LINES`].
    pub max_lines: usize,
    /// So many bytes of them at most, up to [`MAX_READ_BYTES`]. A first line is shown whatever its length.
    pub max_bytes: usize,
    /// How much of one line is shown.
    pub max_line_bytes: usize,
}

/// Which bytes of a file are wanted.
#[derive(Clone, Copy, Debug)]
pub struct BytesQuery {
    pub offset: u64,
    /// So many at most, up to [`MAX_READ_BYTES`].
    pub max_bytes: usize,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile<T> {
    /// Where it is in the tree, free of links.
    pub path: String,
    pub size: u64,
    /// None when it is longer than [`MAX_HASHED_FILE`].
    pub hash: Option<FileHash>,
    pub executable: bool,
    /// What it is, when it is no text.
    pub binary: Option<&'static str>,
    pub content: T,
}

/// Lines of a text. Nothing of a binary file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    pub lines: Vec<ReadLine>,
    /// How many lines the whole file has; none when it is longer than [`MAX_HASHED_FILE`].
    pub total_lines: Option<u64>,
    /// The first line that is left out after these.
    pub next_line: Option<u64>,
    pub line_endings: LineEndings,
    /// It begins with a byte order mark, which is not shown.
    pub byte_order_mark: bool,
    /// Bytes that are not UTF-8 are among these lines, shown as `\u{fffd}`.
    pub invalid_utf8: bool,
    /// Control characters are among these lines, shown as escapes.
    pub escaped: bool,
    pub ends_with_newline: bool,
}

/// A line, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadLine {
    pub number: u64,
    pub text: String,
    /// How many bytes of it are left out.
    pub left_out: u64,
}

/// Bytes as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    pub offset: u64,
    pub bytes: Vec<u8>,
}

pub const MAX_READ_LINES: usize = 10_000;

pub const MAX_READ_BYTES: usize = 1 << 20;

/// Longer files are read no further than asked for: they have no hash, and so cannot be edited.
pub const MAX_HASHED_FILE: u64 = 256 << 20;

/// How much is read at once.
const PIECE: usize = 128 << 10;

impl Default for ReadQuery {
    fn default() -> Self {
        Self {
            first_line: 1,
            max_lines: 2000,
            max_bytes: MAX_READ_BYTES,
            max_line_bytes: 2000,
        }
    }
}

impl FileTree {
    /// Reads lines of a file. The whole file passes through, a piece at a time, for its hash and its number of lines.
    pub fn read(
        &self,
        path: &RepositoryPath,
        query: &ReadQuery,
        cancel: &AtomicBool,
    ) -> Result<ReadFile<FileText>, Error> {
        let (entry, mut file) = self.file(path)?;
        let shown = self.shown_entry(&entry);
        let unreadable = |error| failed("read", &shown, error);
        let mut window = Window::new(query);
        let (mut hasher, mut line_ends, mut size) = (Sha256::new(), LineEndCounter::default(), 0);
        let mut piece = vec![0; PIECE];
        let mut binary = None;
        let whole = loop {
            check_cancelled(cancel)?;
            let length = fill(&mut file, &mut piece).map_err(unreadable)?;
            let read = &piece[..length];
            if size == 0 && is_binary(read) {
                binary = Some(media_type(read));
            }
            size += length as u64;
            hasher.update(read);
            line_ends.add(read);
            if binary.is_none() {
                window.add(read);
            }
            if length < PIECE {
                break true;
            }
            if size > MAX_HASHED_FILE && (binary.is_some() || window.is_full()) {
                break false;
            }
        };
        let mut content = FileText::default();
        if binary.is_none() {
            content = window.finish();
            content.line_endings = line_ends.endings();
            content.total_lines = whole.then(|| line_ends.lines());
            content.ends_with_newline = line_ends.ends_with_newline();
        }
        Ok(ReadFile {
            path: shown,
            size: if whole { size } else { entry.size() },
            hash: (whole && size <= MAX_HASHED_FILE).then(|| FileHash::finish(hasher)),
            executable: entry.is_executable(),
            binary,
            content,
        })
    }

    /// Reads bytes of a file, whatever they are.
    pub fn read_bytes(
        &self,
        path: &RepositoryPath,
        query: BytesQuery,
        cancel: &AtomicBool,
    ) -> Result<ReadFile<FileBytes>, Error> {
        let (entry, mut file) = self.file(path)?;
        let shown = self.shown_entry(&entry);
        let unreadable = |error| failed("read", &shown, error);
        let hash = self.hash(&mut file, &shown, cancel)?;
        file.rewind().map_err(unreadable)?;
        let mut beginning = vec![0; BINARY_WINDOW];
        let length = fill(&mut file, &mut beginning).map_err(unreadable)?;
        beginning.truncate(length);
        file.seek(SeekFrom::Start(query.offset)).map_err(unreadable)?;
        let mut bytes = vec![0; query.max_bytes.min(MAX_READ_BYTES)];
        let length = fill(&mut file, &mut bytes).map_err(unreadable)?;
        bytes.truncate(length);
        Ok(ReadFile {
            path: shown,
            size: entry.size(),
            hash,
            executable: entry.is_executable(),
            binary: is_binary(&beginning).then(|| media_type(&beginning)),
            content: FileBytes {
                offset: query.offset,
                bytes,
            },
        })
    }

    /// The hash of a file from where it stands; none when it is too long.
    pub(super) fn hash(
        &self,
        file: &mut File,
        shown: &str,
        cancel: &AtomicBool,
    ) -> Result<Option<FileHash>, Error> {
        let (mut hasher, mut size) = (Sha256::new(), 0);
        let mut piece = vec![0; PIECE];
        loop {
            check_cancelled(cancel)?;
            let length = fill(file, &mut piece).map_err(|error| failed("read", shown, error))?;
            hasher.update(&piece[..length]);
            size += length as u64;
            if size > MAX_HASHED_FILE {
                return Ok(None);
            }
            if length < PIECE {
                return Ok(Some(FileHash::finish(hasher)));
            }
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
