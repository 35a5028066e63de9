//! What was written, made to survive a power cut.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::descriptor::open_beneath;
use crate::{Error, Repository};

/// Files that were written and may still be in memory alone.
///
/// They survive the end of any process. A power cut they survive once they are settled, which takes as long as the
/// disk takes, so it is left to a thread for which nobody waits. Only these files are waited for: a build may have
/// filled the memory with others.
#[derive(Debug, Default)]
#[must_use = "settle it, best on another thread"]
pub struct Unsettled {
    common_dir: Option<OwnedFd>,
    files: Vec<PathBuf>,
}

impl Unsettled {
    pub(super) fn new(
        repository: &Repository,
        objects: &[gix::ObjectId],
        reference: String,
    ) -> Result<Self, Error> {
        let common_dir = repository.confined_common_dir();
        let descriptor = common_dir.directory().try_clone_to_owned();
        let mut files: Vec<PathBuf> = objects.iter().map(loose_path).collect();
        files.push(PathBuf::from(reference));
        Ok(Self {
            common_dir: Some(descriptor.map_err(|source| Error::OpenDirectory {
                path: common_dir.shown(),
                source,
            })?),
            files,
        })
    }

    /// Whether there is nothing to wait for.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Waits until the disk has them.
    pub fn settle(self) -> Result<(), Error> {
        let Some(common_dir) = self.common_dir else {
            return Ok(());
        };
        let directories: BTreeSet<&Path> = self
            .files
            .iter()
            .flat_map(|file| file.ancestors().skip(1))
            .collect();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        // Content first, then the names under which it is found, the innermost first.
        let files = self.files.iter().map(PathBuf::as_path);
        for path in files.chain(directories.into_iter().rev()) {
            // What is no longer there was packed, or pruned.
            let Ok(file) = open_beneath(&common_dir, path, flags) else {
                continue;
            };
            rustix::fs::fsync(file).map_err(|errno| Error::ReadFile {
                path: path.display().to_string(),
                source: errno.into(),
            })?;
        }
        Ok(())
    }
}

fn loose_path(id: &gix::ObjectId) -> PathBuf {
    let hex = id.to_string();
    Path::new("objects").join(&hex[..2]).join(&hex[2..])
}
