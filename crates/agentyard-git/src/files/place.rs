//! Regular files of the tree, opened for their content.

use std::fs::File;
use std::io;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::lookup::{Entry, Spot, look_up};
use super::{FileTree, shown_in};
use crate::descriptor::open_child_file;
use crate::{Error, RepositoryPath};

use gix::bstr::ByteSlice as _;

impl FileTree {
    /// What a path leads to.
    pub(super) fn spot(&self, path: &RepositoryPath) -> Result<Spot, Error> {
        look_up(self, &self.top, path)
    }

    /// The regular file that a path leads to, and where that is.
    pub(super) fn file(&self, path: &RepositoryPath) -> Result<(Entry, File), Error> {
        match self.spot(path)? {
            Spot::Entry(entry) => {
                let file = self.open_entry(&entry)?;
                Ok((entry, file))
            }
            Spot::Directory(_) => Err(Error::invalid(
                path.shown(),
                "it is a directory; `ls` lists what is in it",
            )),
            Spot::Absent { .. } => Err(Error::Missing {
                what: format!("{} does not exist; `ls` and `search` find files", path.shown()),
            }),
        }
    }

    pub(super) fn open_entry(&self, entry: &Entry) -> Result<File, Error> {
        let shown = || self.shown_entry(entry);
        if entry.kind() != FileType::RegularFile {
            return Err(not_a_file(&shown(), entry.kind()));
        }
        match open_child_file(entry.directory.descriptor(), &entry.name) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => Err(Error::state(
                format!("{} was changed while it was opened", shown()),
                "try again",
            )),
            Err(error) => Err(failed("opened", &shown(), error)),
        }
    }

    /// The entry's own path, free of links.
    pub(super) fn shown_entry(&self, entry: &Entry) -> String {
        shown_in(&self.top, &entry.directory, entry.name.as_bstr())
    }
}

pub(super) fn not_a_file(path: &str, kind: FileType) -> Error {
    let kind = match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no regular file",
    };
    Error::invalid(path, format!("it is {kind}, which is neither read nor written"))
}

/// The kernel's refusal, in words that say what to do.
pub(super) fn failed(attempted: &str, path: &str, error: io::Error) -> Error {
    let full = [Errno::NOSPC, Errno::DQUOT].map(|errno| Some(errno.raw_os_error()));
    let remedy = if full.contains(&error.raw_os_error()) {
        "free space on this disk, or ask who runs the server to; the file is as it was before"
    } else {
        match error.kind() {
            io::ErrorKind::PermissionDenied => "look at its owner and mode with `ls`",
            io::ErrorKind::ReadOnlyFilesystem => {
                "choose another workspace: this file system cannot be written"
            }
            _ => "try again; if it stays, ask who runs the server",
        }
    };
    Error::state(format!("{path} could not be {attempted}: {error}"), remedy)
}
