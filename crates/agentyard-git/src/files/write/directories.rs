//! The directories that a new file needs.

use std::sync::Arc;

use gix::bstr::{BString, ByteSlice as _};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::super::place::failed;
use super::super::{guard, shown_in};
use crate::Error;
use crate::status::Directory;

/// Directories of which some were made, each in the one before, which is held open.
pub(super) struct NewDirectories {
    last: Arc<Directory>,
    made: Vec<(Arc<Directory>, BString)>,
}

/// Deeper paths are refused. Each directory on the way is held open.
const MAX_MADE: usize = 64;

impl NewDirectories {
    pub(super) fn make(top: &Directory, base: Arc<Directory>, names: &[BString]) -> Result<Self, Error> {
        if names.len() > MAX_MADE {
            return Err(Error::invalid(
                "the path",
                format!(
                    "it needs {} new directories, and {MAX_MADE} are allowed",
                    names.len()
                ),
            ));
        }
        let mut directories = Self {
            last: base,
            made: Vec::new(),
        };
        for name in names {
            if let Err(error) = directories.descend(top, name) {
                directories.undo();
                return Err(error);
            }
        }
        Ok(directories)
    }

    pub(super) fn last(&self) -> &Arc<Directory> {
        &self.last
    }

    /// Removes what was made, as far as it is empty.
    pub(super) fn undo(&self) {
        for (parent, name) in self.made.iter().rev() {
            let _ = rustix::fs::unlinkat(parent.descriptor(), name.as_bytes(), AtFlags::REMOVEDIR);
        }
    }

    fn descend(&mut self, top: &Directory, name: &BString) -> Result<(), Error> {
        let shown = || shown_in(top, &self.last, name.as_bstr());
        let unmade = |errno: Errno| failed("made", &shown(), errno.into());
        let parent = Arc::clone(&self.last);
        match rustix::fs::mkdirat(parent.descriptor(), name.as_bytes(), Mode::from_raw_mode(0o755)) {
            Ok(()) => {
                self.made.push((Arc::clone(&parent), name.clone()));
                rustix::fs::fsync(parent.descriptor()).map_err(unmade)?;
            }
            // Somebody else made it, or put a link there: the next line tells.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(unmade(errno)),
        }
        let below = parent.child(name.as_bstr()).map_err(unmade)?;
        if guard::is_git_directory(&below) {
            return Err(guard::refusal(&shown()));
        }
        self.last = Arc::new(below);
        Ok(())
    }
}
