//! All that a run said, as far as that is kept: more than an answer has room for, to be read later.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use agentyard_sandbox::Stream;

/// How much is kept of each stream.
const MAX_KEPT_BYTES: u64 = 8 * 1024 * 1024;

/// How much of it is kept in memory.
const MAX_MEMORY_BYTES: usize = 64 * 1024;

/// What a run said.
#[derive(Debug)]
pub(super) struct Spool {
    stdout: Kept,
    stderr: Kept,
    /// Where files are made, which have no name and so are gone with the process at the latest.
    directory: PathBuf,
}

/// A part of what a run said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// The part.
    pub bytes: Vec<u8>,
    /// How many bytes can be read in all, so far.
    pub kept: u64,
    /// How many bytes were said in all, so far.
    pub total: u64,
    /// Whether the run has ended, so that nothing will be added.
    pub is_complete: bool,
}

/// What was said on one stream.
#[derive(Debug, Default)]
struct Kept {
    memory: Vec<u8>,
    /// What follows what is in memory.
    file: Option<File>,
    /// How much was kept, and how much was said.
    kept: u64,
    total: u64,
}

impl Spool {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            stdout: Kept::default(),
            stderr: Kept::default(),
            directory,
        }
    }

    /// Keeps what was said, as long as there is room for it.
    pub(super) fn push(&mut self, stream: Stream, text: &str) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let has_gap = kept.kept < kept.total;
        kept.total += text.len() as u64;
        if !has_gap && let Err(error) = kept.keep(text.as_bytes(), &self.directory) {
            tracing::warn!(%error, "the output of a run is not kept whole");
        }
    }

    pub(super) fn read(
        &self,
        stream: Stream,
        offset: u64,
        most: usize,
        is_complete: bool,
    ) -> io::Result<RunOutput> {
        let kept = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        Ok(RunOutput {
            bytes: kept.read(offset, most)?,
            kept: kept.kept,
            total: kept.total,
            is_complete,
        })
    }
}

impl Kept {
    fn keep(&mut self, said: &[u8], directory: &PathBuf) -> io::Result<()> {
        let room = usize::try_from(MAX_KEPT_BYTES - self.kept).unwrap_or(usize::MAX);
        let said = &said[..said.len().min(room)];
        let (memory, rest) = said.split_at(said.len().min(MAX_MEMORY_BYTES - self.memory.len()));
        self.memory.extend_from_slice(memory);
        self.kept += memory.len() as u64;
        if rest.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(directory)?),
        };
        file.write_all_at(rest, self.kept - MAX_MEMORY_BYTES as u64)?;
        self.kept += rest.len() as u64;
        Ok(())
    }

    fn read(&self, offset: u64, most: usize) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.kept.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(length.min(most));
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.memory.len());
        let end = start.saturating_add(most).min(self.memory.len());
        bytes.extend_from_slice(&self.memory[start..end]);
        let left = length.min(most) - bytes.len();
        if let (Some(file), 1..) = (&self.file, left) {
            let read = bytes.len();
            bytes.resize(read + left, 0);
            let at = offset + read as u64 - self.memory.len() as u64;
            file.read_exact_at(&mut bytes[read..], at)?;
        }
        Ok(bytes)
    }
}

/// A file without a name.
fn nameless(directory: &PathBuf) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::TMPFILE.bits()).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(flags);
    options.open(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool() -> (tempfile::TempDir, Spool) {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::new(directory.path().to_owned());
        (directory, spool)
    }

    fn read(spool: &Spool, offset: u64, most: usize) -> RunOutput {
        spool.read(Stream::Stdout, offset, most, true).unwrap()
    }

    #[test]
    fn all_of_it_can_be_read_from_anywhere() {
        let (directory, mut spool) = spool();
        let line: String = (0..1000).map(|number| format!("line {number}\n")).collect();
        let mut whole = String::new();
        for _ in 0..30 {
            spool.push(Stream::Stdout, &line);
            whole.push_str(&line);
        }
        spool.push(Stream::Stderr, "oh");
        let memory = MAX_MEMORY_BYTES;
        for (offset, most) in [
            (0, 10),
            (5, whole.len()),
            (memory - 3, 6),
            (memory, 100),
            (whole.len() - 4, 100),
        ] {
            let end = (offset + most).min(whole.len());
            assert_eq!(
                read(&spool, offset as u64, most).bytes,
                &whole.as_bytes()[offset..end]
            );
        }
        assert!(read(&spool, whole.len() as u64, 10).bytes.is_empty());
        assert!(read(&spool, u64::MAX, 10).bytes.is_empty());
        assert_eq!(spool.read(Stream::Stderr, 0, 10, false).unwrap().bytes, b"oh");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_too_much_is_counted_and_not_kept() {
        let (_directory, mut spool) = spool();
        let piece = "x".repeat(1024 * 1024 - 7);
        for _ in 0..20 {
            spool.push(Stream::Stdout, &piece);
        }
        let last = read(&spool, MAX_KEPT_BYTES - 2, 100);
        assert_eq!(last.bytes, b"xx");
        assert_eq!((last.kept, last.total), (MAX_KEPT_BYTES, 20 * piece.len() as u64));
    }

    #[test]
    fn where_nothing_can_be_written_the_beginning_is_kept() {
        let mut spool = Spool::new(PathBuf::from("/nowhere"));
        for _ in 0..3 {
            spool.push(Stream::Stdout, &"y".repeat(MAX_MEMORY_BYTES));
        }
        let all = read(&spool, 0, usize::MAX);
        assert_eq!(all.bytes.len(), MAX_MEMORY_BYTES);
        assert_eq!(
            (all.kept, all.total),
            (MAX_MEMORY_BYTES as u64, 3 * MAX_MEMORY_BYTES as u64)
        );
    }
}
