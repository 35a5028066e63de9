//! Files are begun: where nothing is yet.

use std::sync::atomic::AtomicBool;

use super::FileTree;
use super::hash::FileHash;
use super::lookup::Spot;
use super::write::{WriteOptions, Written, check_length};
use crate::{Error, RepositoryPath};

impl FileTree {
    /// Writes a new file, with the directories that it needs. One that is there already stays as it is; that is no
    /// failure when it holds this very content, so that a call can be repeated.
    pub fn initialize(
        &self,
        path: &RepositoryPath,
        content: &[u8],
        cancel: &AtomicBool,
    ) -> Result<Written, Error> {
        check_length(content)?;
        let entry = match self.spot(path)? {
            Spot::Directory(_) => return Err(Error::invalid(path.shown(), "it is a directory")),
            Spot::Absent { directory, names } => {
                return self.create(directory, names, content, &WriteOptions::default(), cancel);
            }
            Spot::Entry(entry) => entry,
        };
        let shown = self.shown_entry(&entry);
        let mut file = self.open_entry(&entry)?;
        let hash = FileHash::of(content);
        if self.hash(&mut file, &shown, cancel)? != Some(hash) {
            return Err(Error::state(
                format!(
                    "{shown} exists already, with another content ({} bytes)",
                    entry.size()
                ),
                "use overwrite_code_file to replace it, append_to_code_file to add to it, or another name",
            ));
        }
        Ok(Written {
            path: shown,
            created: false,
            unchanged: true,
            size: entry.size(),
            hash,
        })
    }
}
