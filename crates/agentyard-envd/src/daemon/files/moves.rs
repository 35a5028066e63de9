//! Files and directories that go elsewhere.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::draft::{Purpose, beside};
use super::faults::fault;
use super::{metadata, tree};
use crate::connect::{Code, Fault};
use crate::filesystem::Entry;

/// Moves what is at one path to another, in the place of a file that may be there.
pub(super) fn move_to(source: &Path, destination: &Path) -> Result<Entry, Fault> {
    let failed = |error| fault("move", source, &error);
    let moved = fs::symlink_metadata(source).map_err(failed)?;
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent).map_err(|error| fault("move something to", destination, &error))?;
    }
    match fs::rename(source, destination) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            across(source, &moved, destination).map_err(failed)?;
        }
        Err(error) => return Err(fault("move something to", destination, &error)),
        Ok(()) => {}
    }
    tree::look(destination)
}

/// To another file system: a copy is put there as a whole before anything is taken away here.
fn across(source: &Path, moved: &Metadata, destination: &Path) -> io::Result<()> {
    let parent = destination.parent().unwrap_or(Path::new("/"));
    if moved.is_dir() && fs::canonicalize(parent)?.starts_with(fs::canonicalize(source)?) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let (draft, copied) = beside(destination, Purpose::Moved, |draft| {
        // A name that somebody has is not to be cleaned up as ours.
        begin(source, moved, draft)?;
        Ok(if moved.is_dir() {
            fill(source, draft)
        } else {
            Ok(())
        })
    })?;
    if let Err(error) = copied.and_then(|()| fs::rename(&draft, destination)) {
        // It is in nobody's way: names that are taken are left out.
        let _ = tree::remove(&draft);
        return Err(error);
    }
    tree::remove(source).map_err(|fault: Fault| {
        let fault = Fault::new(
            Code::Internal,
            format!("it was copied, but then {}", fault.message),
        );
        io::Error::other(fault)
    })
}

/// Copies one thing: a file and a link as a whole, a directory without what is in it.
fn begin(source: &Path, metadata: &Metadata, copy: &Path) -> io::Result<()> {
    if metadata.is_dir() {
        // Until it is filled, its owner must be able to.
        fs::create_dir(copy)
    } else if metadata.is_symlink() {
        symlink(fs::read_link(source)?, copy)
    } else if metadata.is_file() {
        let mut from = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed())
            .open(source)?;
        let mut options = OpenOptions::new();
        let mut to = options.write(true).create_new(true).mode(0o600).open(copy)?;
        let copied = io::copy(&mut from, &mut to).and_then(|_| dress(source, metadata, &to));
        copied.inspect_err(|_| {
            // It is in nobody's way: names that are taken are left out.
            let _ = fs::remove_file(copy);
        })
    } else {
        Err(io::Error::new(
            ErrorKind::Unsupported,
            "there is a pipe, a socket or a device in it, which cannot be on another file system; remove it first",
        ))
    }
}

/// Copies what is in a directory. No deeper in calls for a deeper directory: how deep it is, others decide.
fn fill(source: &Path, copy: &Path) -> io::Result<()> {
    let mut waiting: Vec<(PathBuf, PathBuf)> = vec![(source.to_owned(), copy.to_owned())];
    let mut filled = Vec::new();
    while let Some((from, to)) = waiting.pop() {
        for child in fs::read_dir(&from)? {
            let child = child?;
            let (path, copy) = (child.path(), to.join(child.file_name()));
            let metadata = child.metadata()?;
            begin(&path, &metadata, &copy)?;
            if metadata.is_dir() {
                waiting.push((path, copy));
            }
        }
        filled.push((from, to));
    }
    // From below: a directory that may not be changed has all that is in it by then.
    for (from, to) in filled.into_iter().rev() {
        dress(&from, &fs::symlink_metadata(&from)?, &File::open(&to)?)?;
    }
    Ok(())
}

/// Gives a copy the mode, the time and the metadata of what it is a copy of.
fn dress(source: &Path, metadata: &Metadata, copy: &File) -> io::Result<()> {
    metadata::keep(copy, metadata::read(source))?;
    // Neither may a file run as its owner here, nor could it be made so.
    copy.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o1777))?;
    copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_go_where_they_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("file"), "1").unwrap();
        fs::write(root.join("other"), "2").unwrap();
        let entry = move_to(&root.join("file"), &root.join("a/b/file")).unwrap();
        assert_eq!(Path::new(&entry.path), root.join("a/b/file"));
        move_to(&root.join("other"), &root.join("a/b/file")).unwrap();
        assert_eq!(fs::read(root.join("a/b/file")).unwrap(), b"2");
        let code = |from: &str, to: &str| move_to(&root.join(from), &root.join(to)).unwrap_err().code;
        assert_eq!(code("missing", "c/d"), Code::NotFound);
        assert!(!root.join("c").exists());
        assert_eq!(code("a", "a/b/c"), Code::InvalidArgument);
        fs::create_dir(root.join("e")).unwrap();
        assert_eq!(code("e", "a"), Code::FailedPrecondition);
    }

    #[test]
    fn a_copy_is_as_what_it_is_a_copy_of() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "content").unwrap();
        fs::set_permissions(from.join("a/b/file"), Permissions::from_mode(0o641)).unwrap();
        symlink("b/file", from.join("a/link")).unwrap();
        fs::set_permissions(from.join("a/b"), Permissions::from_mode(0o550)).unwrap();
        let time = fs::metadata(from.join("a/b/file")).unwrap().modified().unwrap();
        across(&from, &fs::symlink_metadata(&from).unwrap(), &to).unwrap();
        assert!(!from.exists());
        let metadata = fs::metadata(to.join("a/b/file")).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o641);
        assert_eq!(metadata.modified().unwrap(), time);
        assert_eq!(fs::read(to.join("a/link")).unwrap(), b"content");
        assert!(fs::symlink_metadata(to.join("a/link")).unwrap().is_symlink());
        let mode = fs::metadata(to.join("a/b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o550);
    }

    #[test]
    fn what_cannot_be_copied_leaves_all_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "content").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        let moved = fs::symlink_metadata(&from).unwrap();
        assert!(across(&from, &moved, &to).is_err());
        assert!(across(&from, &moved, &from.join("below")).is_err());
        assert_eq!(fs::read(from.join("file")).unwrap(), b"content");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
