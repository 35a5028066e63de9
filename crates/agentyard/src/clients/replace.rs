//! Changing a file in one step: it is either as it was or as it should be, whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid, fchown};

use super::ClientError;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    Created,
    Changed,
    Unchanged,
}

/// Changes the text of a file. One that does not exist is made, readable by others unless it is private;
/// one that does keeps its permissions and its owner, and if it is a link, the file behind it is changed.
pub(crate) fn edit(
    path: &Path,
    private: bool,
    change: impl FnOnce(&str) -> Result<String, ClientError>,
) -> Result<Replaced, ClientError> {
    let unreadable = |source| ClientError::Unreadable {
        path: path.to_path_buf(),
        source,
    };
    let unwritable = |source| ClientError::Unwritable {
        path: path.to_path_buf(),
        source,
    };
    let target = resolved(path).map_err(unreadable)?;
    let before = read(&target).map_err(unreadable)?;
    let after = change(before.as_deref().unwrap_or_default())?;
    if before.as_ref() == Some(&after) {
        return Ok(Replaced::Unchanged);
    }
    let parent = target
        .parent()
        .ok_or_else(|| unwritable(io::ErrorKind::NotADirectory.into()))?;
    fs::create_dir_all(parent).map_err(unwritable)?;
    let draft = Draft::write(&target, &after, private).map_err(unwritable)?;
    // Clients write to these files themselves. What one wrote since we read it must not be lost.
    if read(&target).map_err(unreadable)? != before {
        return Err(ClientError::Changed {
            path: path.to_path_buf(),
        });
    }
    draft.put_in_place(&target, parent).map_err(unwritable)?;
    Ok(if before.is_some() {
        Replaced::Changed
    } else {
        Replaced::Created
    })
}

/// The file behind any links; the path itself if nothing is there yet.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_path_buf()),
        other => other,
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The new file beside the old one; it goes away again unless it is put in place.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn write(target: &Path, text: &str, private: bool) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.agentyard-{}", std::process::id()));
        let existing = fs::metadata(target).ok();
        let mode = if private || existing.is_some() {
            0o600
        } else {
            0o666
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        let draft = Self { path };
        if let Some(existing) = existing {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (existing.uid(), existing.gid()) {
                fchown(
                    &file,
                    Some(Uid::from_raw(existing.uid())),
                    Some(Gid::from_raw(existing.gid())),
                )?;
            }
            file.set_permissions(fs::Permissions::from_mode(existing.mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(draft)
    }

    fn put_in_place(self, target: &Path, parent: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        File::open(parent)?.sync_all()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Once it is in place there is nothing at its path any more.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests;
