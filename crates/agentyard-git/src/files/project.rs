//! The files at the top of a tree that say what a project is made with.

use std::io::Read as _;
use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;
use rustix::fs::FileType;

use super::FileTree;
use super::lookup::{Entry, Spot, look_up};
use crate::error::check_cancelled;
use crate::{Error, RepositoryPath, text};

/// A file that says something about the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    pub path: String,
    /// Its beginning, up to [`MAX_PROJECT_FILE`], without control characters.
    pub content: String,
}

/// How much of such a file is read.
pub const MAX_PROJECT_FILE: u64 = 256 << 10;

impl FileTree {
    /// Those of the named files that are there. Whatever else has such a name counts as absent.
    pub fn project_files(&self, names: &[&str], cancel: &AtomicBool) -> Result<Vec<ProjectFile>, Error> {
        let mut found = Vec::new();
        for name in names {
            check_cancelled(cancel)?;
            let path = RepositoryPath::new(name)?;
            if let Ok(Spot::Entry(entry)) = look_up(self, &self.top, &path)
                && entry.kind() == FileType::RegularFile
                && let Some(content) = self.beginning(&entry)
            {
                found.push(ProjectFile {
                    path: path.shown(),
                    content,
                });
            }
        }
        Ok(found)
    }

    fn beginning(&self, entry: &Entry) -> Option<String> {
        let mut content = Vec::new();
        let file = self.open_entry(entry).ok()?;
        file.take(MAX_PROJECT_FILE).read_to_end(&mut content).ok()?;
        Some(text::without_controls(&content.to_str_lossy()))
    }
}
