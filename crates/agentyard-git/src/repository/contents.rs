//! What lies inside a git directory: only what git puts there, and no way out.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::SystemTime;

use gix::bstr::ByteSlice as _;
use rustix::fs::{AtFlags, FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::locate::part_error;
use super::stamp::Stamp;
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

/// What a check saw, by which can be told whether another one would see the same.
pub(super) struct Inventory {
    base: Confined,
    taken_at: SystemTime,
    directories: Vec<(Vec<u8>, Option<Stamp>)>,
    /// Files whose size matters, and may change without a word in their directories.
    whole_files: Vec<Vec<u8>>,
    /// Files that gix maps into memory. Whoever reads one that was cut short meanwhile is killed.
    packs: Vec<(Vec<u8>, Option<Stamp>)>,
    has_links: bool,
}

impl Inventory {
    /// Whether a check now would find nothing that it did not find then.
    pub(super) fn is_current(&self) -> bool {
        let is_unchanged = |(name, stamp): &(Vec<u8>, Option<Stamp>)| {
            stamp.is_some_and(|stamp| stamp.is_settled_at(self.taken_at))
                && Stamp::of(self.base.directory(), name) == *stamp
        };
        !self.has_links
            && self.directories.iter().all(is_unchanged)
            && self
                .whole_files
                .iter()
                .all(|name| size(self.base.directory(), name) <= WHOLE_FILE_LIMIT)
    }

    pub(super) fn pack_files(&self) -> usize {
        self.packs.len()
    }

    pub(super) fn has_links(&self) -> bool {
        self.has_links
    }

    /// Whether a directory of this name was there.
    pub(super) fn has_directory(&self, name: &[u8]) -> bool {
        self.directories.iter().any(|(directory, _)| directory == name)
    }

    /// Whether the packs are those that they were.
    pub(super) fn has_packs_of(&self, former: &Self) -> bool {
        self.packs == former.packs
    }

    /// Looks at the packs again.
    pub(super) fn packs_are_current(&self) -> bool {
        self.packs
            .iter()
            .all(|(name, stamp)| Stamp::of(self.base.directory(), name) == *stamp)
    }
}

/// Refuses links that leave the roots, and entries that reading would wait for.
pub(super) fn check(git_dir: &Confined, common_dir: &Confined) -> Result<Vec<Inventory>, Error> {
    let mut inventories = vec![check_directories(common_dir, SHARED)?];
    if git_dir.path() != common_dir.path() {
        inventories.push(check_directories(git_dir, PRIVATE)?);
    }
    Ok(inventories)
}

/// As [`check`], for an object database that an alternates file names.
pub(super) fn check_objects(objects: &Confined) -> Result<(), Error> {
    let directories = [
        ("", Depth::Entries),
        ("info", Depth::Entries),
        ("pack", Depth::Entries),
    ];
    check_directories(objects, &directories).map(|_| ())
}

fn check_directories(base: &Confined, directories: &[(&str, Depth)]) -> Result<Inventory, Error> {
    let mut inventory = Inventory {
        base: base.clone(),
        taken_at: SystemTime::now(),
        directories: Vec::new(),
        whole_files: Vec::new(),
        packs: Vec::new(),
        has_links: false,
    };
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
        check_entries(name.as_bytes(), &directory, *depth, &mut inventory, &mut buffer)?;
    }
    Ok(inventory)
}

fn check_entries(
    name: &[u8],
    directory: &OwnedFd,
    depth: Depth,
    inventory: &mut Inventory,
    buffer: &mut [MaybeUninit<u8>],
) -> Result<(), Error> {
    let base = &inventory.base;
    inventory
        .directories
        .push((name.to_owned(), Stamp::of(directory, b"")));
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
                let path = joined(name, child);
                if is_read_whole(name, child) {
                    if size(directory, child) > WHOLE_FILE_LIMIT {
                        return Err(malformed(base, &path, "is too large"));
                    }
                    inventory.whole_files.push(path);
                } else if name == b"objects/pack" {
                    inventory.packs.push((path, Stamp::of(directory, child)));
                }
            }
            FileType::Directory if depth == Depth::Everything => below.push(child.to_owned()),
            FileType::Directory => {}
            FileType::Symlink => {
                check_link(base, &joined(name, child))?;
                inventory.has_links = true;
            }
            // git leaves its file system monitor's socket here.
            FileType::Socket => {}
            _ => return Err(malformed(base, &joined(name, child), SPECIAL)),
        }
    }
    for child in below {
        let path = joined(name, &child);
        match crate::descriptor::open_child_directory(directory, &child) {
            Ok(directory) => check_entries(&path, &directory, depth, inventory, buffer)?,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(unreadable(&inventory.base, &path, errno)),
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
