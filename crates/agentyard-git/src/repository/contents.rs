//! What lies inside a git directory: only what git puts there, and no way out.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use gix::bstr::ByteSlice as _;
use rustix::fs::{AtFlags, FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::locate::part_error;
use crate::descriptor::{as_path, file_type, open_beneath};
use crate::{Confined, Error, display_path};

/// Directories of the common directory whose entries are read; those under `refs` and `logs` to any depth.
///
/// Loose objects are checked by directory, not one by one: there can be thousands, and linking one from
/// elsewhere takes its name, that is, knowing its content already or having been told.
const SHARED: &[(&str, Depth)] = &[
    ("", Depth::Entries),
    ("info", Depth::Entries),
    ("objects", Depth::Entries),
    ("objects/info", Depth::Entries),
    ("objects/info/commit-graphs", Depth::Entries),
    ("objects/pack", Depth::Entries),
    ("refs", Depth::Everything),
    ("logs", Depth::Everything),
];

/// The same for a linked worktree's own directory.
const PRIVATE: &[(&str, Depth)] = &[
    ("", Depth::Entries),
    ("refs", Depth::Everything),
    ("logs", Depth::Everything),
];

/// Files that gix takes into memory as they are; git never writes them this large.
const WHOLE_FILE_LIMIT: i64 = 16 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Entries,
    Everything,
}

const SPECIAL: &str = "is neither a file nor a directory";

/// Refuses links that leave the roots, and entries that reading would wait for.
pub(super) fn check(git_dir: &Confined, common_dir: &Confined) -> Result<(), Error> {
    check_directories(common_dir, SHARED)?;
    if git_dir.path() != common_dir.path() {
        check_directories(git_dir, PRIVATE)?;
    }
    Ok(())
}

/// As [`check`], for an object database that an alternates file names.
pub(super) fn check_objects(objects: &Confined) -> Result<(), Error> {
    check_directories(
        objects,
        &[
            ("", Depth::Entries),
            ("info", Depth::Entries),
            ("pack", Depth::Entries),
        ],
    )
}

fn check_directories(base: &Confined, directories: &[(&str, Depth)]) -> Result<(), Error> {
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    for (name, depth) in directories {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = match open_beneath(base.directory(), Path::new(name), flags) {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            // A link to another directory of the roots, such as tools that share objects make.
            Err(Errno::XDEV) => base
                .roots()
                .open_directory(&base.path().join(name))
                .and_then(|target| {
                    open_beneath(target.directory(), Path::new("."), flags)
                        .map_err(|errno| unreadable(base, name.as_bytes(), errno))
                })
                .map_err(|error| part_error(base, format!("{name} link"), error))?,
            Err(errno) => return Err(unreadable(base, name.as_bytes(), errno)),
        };
        check_entries(base, name.as_bytes(), &directory, *depth, &mut buffer)?;
    }
    Ok(())
}

fn check_entries(
    base: &Confined,
    name: &[u8],
    directory: &OwnedFd,
    depth: Depth,
    buffer: &mut [MaybeUninit<u8>],
) -> Result<(), Error> {
    let mut below = Vec::new();
    let mut entries = RawDir::new(directory, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|errno| unreadable(base, name, errno))?;
        let child = entry.file_name().to_bytes();
        if matches!(child, b"." | b"..") {
            continue;
        }
        let kind = known_type(directory, child, entry.file_type());
        match kind {
            FileType::RegularFile => {
                if is_read_whole(name, child) && size(directory, child) > WHOLE_FILE_LIMIT {
                    return Err(malformed(base, &joined(name, child), "is too large"));
                }
            }
            FileType::Directory if depth == Depth::Everything => below.push(child.to_owned()),
            FileType::Directory => {}
            FileType::Symlink => check_link(base, &joined(name, child))?,
            // git leaves its file system monitor's socket here.
            FileType::Socket => {}
            _ => return Err(malformed(base, &joined(name, child), SPECIAL)),
        }
    }
    for child in below {
        let path = joined(name, &child);
        match crate::descriptor::open_child_directory(directory, &child) {
            Ok(directory) => check_entries(base, &path, &directory, depth, buffer)?,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(unreadable(base, &path, errno)),
        }
    }
    Ok(())
}

fn is_read_whole(directory: &[u8], name: &[u8]) -> bool {
    directory.starts_with(b"refs")
        || directory.is_empty()
            && matches!(
                name,
                b"HEAD" | b"config" | b"config.worktree" | b"shallow" | b"gitdir"
            )
}

fn size(directory: impl AsFd, name: &[u8]) -> i64 {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_size)
}

/// Some file systems leave the type of an entry out.
fn known_type(directory: impl AsFd, name: &[u8], listed: FileType) -> FileType {
    match listed {
        FileType::Unknown => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        listed => listed,
    }
}

fn check_link(base: &Confined, name: &[u8]) -> Result<(), Error> {
    let path = base.path().join(as_path(name));
    match base.roots().find(&path) {
        Ok(found) => match file_type(&found.descriptor) {
            Ok(FileType::RegularFile | FileType::Directory) => Ok(()),
            _ => Err(malformed(base, name, SPECIAL)),
        },
        // A link to nothing reads like nothing. An old way to write a symbolic reference leaves such links.
        Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(part_error(
            base,
            format!("{} link", display_path(name.as_bstr())),
            error,
        )),
    }
}

fn malformed(base: &Confined, name: &[u8], problem: &'static str) -> Error {
    Error::RepositoryMalformed {
        path: base.shown(),
        part: display_path(name.as_bstr()),
        problem,
    }
}

fn unreadable(base: &Confined, name: &[u8], errno: Errno) -> Error {
    let path = base.path().join(as_path(name));
    Error::ReadFile {
        path: crate::roots::shown(&path),
        source: errno.into(),
    }
}

fn joined(name: &[u8], child: &[u8]) -> Vec<u8> {
    if name.is_empty() {
        return child.to_owned();
    }
    [name, b"/", child].concat()
}
