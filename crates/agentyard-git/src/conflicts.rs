//! Conflicts as data: which files, which hunks, and what each side has there.

mod markers;

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};

use gix::bstr::{BStr, ByteSlice as _};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::descriptor::{as_path, file_type};
use crate::status::conflict;
use crate::{Confined, Conflict, Error, Repository, display_path, index};
pub use markers::{ConflictHunk, ConflictSide};

/// What is unresolved in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// The files, sorted by path.
    pub files: Vec<ConflictedFile>,
    /// How many more there are.
    pub left_out: usize,
}

/// A file with unresolved conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictedFile {
    /// Its path, as [`display_path`] shows it.
    pub path: String,
    /// What the two sides did.
    pub conflict: Conflict,
    /// What is in the working tree.
    pub content: ConflictContent,
}

/// What the working tree has of a file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictContent {
    /// Text, perhaps without any markers.
    Text {
        hunks: Vec<ConflictHunk>,
        /// How many hunks follow that are not here.
        hunks_left_out: usize,
        /// Its lines end in a carriage return and a line feed.
        crlf: bool,
    },
    /// Something that is not text.
    Binary,
    /// More than is looked at.
    TooLarge,
    /// No file.
    Absent,
}

/// How many files are listed.
const MAX_FILES: usize = 200;

/// Larger files are not looked at.
const MAX_FILE_SIZE: u64 = 4 << 20;

/// How much text is shown of all files together.
const MAX_TEXT: usize = 32 * 1024;

/// As much as git itself looks at to tell text from other content.
const BINARY_CHECK: usize = 8000;

impl Conflicts {
    /// Whether everything is resolved.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files by name, for messages.
    pub fn names(&self) -> String {
        const NAMED: usize = 20;
        let names: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let mut text = names[..names.len().min(NAMED)].join(", ");
        let more = names.len().saturating_sub(NAMED) + self.left_out;
        if more > 0 {
            text += &format!(" and {more} more");
        }
        text
    }
}

impl Repository {
    /// What is unresolved, whichever operation left it.
    pub fn conflicts(&self, cancel: &AtomicBool) -> Result<Conflicts, Error> {
        let Some(worktree) = self.confined_worktree() else {
            return Ok(Conflicts::default());
        };
        let local = self.local();
        let index = index::load(self, &local)?;
        let mut room = MAX_TEXT;
        let mut found = Conflicts::default();
        for entries in index
            .entries()
            .chunk_by(|one, other| one.path(&index) == other.path(&index))
        {
            let Some(conflict) = conflict(entries) else {
                continue;
            };
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            if found.files.len() == MAX_FILES {
                found.left_out += 1;
                continue;
            }
            let path = entries[0].path(&index);
            found.files.push(ConflictedFile {
                path: display_path(path),
                conflict,
                content: content(worktree, path, &mut room)?,
            });
        }
        Ok(found)
    }
}

fn content(worktree: &Confined, path: &BStr, room: &mut usize) -> Result<ConflictContent, Error> {
    let unreadable = |source| Error::ReadFile {
        path: display_path(path),
        source,
    };
    let descriptor = match rustix::fs::openat2(
        worktree.directory(),
        as_path(path),
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(descriptor) => descriptor,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR) => return Ok(ConflictContent::Absent),
        // A link is not text to merge, whatever it leads to.
        Err(Errno::LOOP | Errno::NXIO) => return Ok(ConflictContent::Binary),
        Err(errno) => return Err(unreadable(errno.into())),
    };
    if file_type(&descriptor).map_err(|errno| unreadable(errno.into()))? != FileType::RegularFile {
        return Ok(ConflictContent::Binary);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(descriptor)
        .take(MAX_FILE_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_SIZE {
        return Ok(ConflictContent::TooLarge);
    }
    if bytes[..bytes.len().min(BINARY_CHECK)].contains(&0) {
        return Ok(ConflictContent::Binary);
    }
    let (hunks, hunks_left_out) = markers::hunks(&bytes, room);
    Ok(ConflictContent::Text {
        hunks,
        hunks_left_out,
        crlf: bytes.contains_str(b"\r\n"),
    })
}
