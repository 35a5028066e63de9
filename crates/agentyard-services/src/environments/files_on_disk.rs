//! Our own files and directories in the data directory. None of these paths is within reach of a command.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a file such that it is there as a whole or not at all.
pub(super) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, content)?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(&new, path)
}

/// Makes a directory into which only this server looks.
pub(super) fn private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes an empty directory that commands will see.
pub(super) fn fresh_directory(path: &Path) -> io::Result<()> {
    remove(path)?;
    fs::create_dir(path)?;
    // Whatever the mask of this process is: the sandbox's user reads what others of its environment wrote.
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Removes a directory and what is in it, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How much a directory takes on disk. What cannot be read counts for nothing.
pub(super) fn size_of(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut waiting = vec![path.to_owned()];
    let mut size = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            size += metadata.blocks() * 512;
            // Of the entry itself, and not of what a link leads to.
            if metadata.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    size
}
