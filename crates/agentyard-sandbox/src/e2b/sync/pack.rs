//! Files of this machine as an archive.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat2};
use tar::{Builder, EntryType, Header};

use super::Stamp;
use super::walk::{BENEATH, open_directory, stamp};

/// Writes an archive of what is at these paths. What is gone by now is left out. It blocks.
pub(in super::super) fn pack(root: BorrowedFd<'_>, paths: &[PathBuf], archive: impl Write) -> io::Result<()> {
    let mut builder = Builder::new(archive);
    for path in paths {
        match add(root, path, &mut builder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            added => added?,
        }
    }
    builder.into_inner()?.flush()
}

fn add(root: BorrowedFd<'_>, path: &Path, builder: &mut Builder<impl Write>) -> io::Result<()> {
    let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
    let directory = open_directory(root, parent)?;
    let name = name.unwrap_or(OsStr::new("."));
    let mut header = Header::new_gnu();
    header.set_uid(0);
    header.set_gid(0);
    match stamp(directory.as_fd(), name)? {
        None => Ok(()),
        Some(Stamp::Directory { mode }) => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(mode);
            header.set_size(0);
            // A directory ends with a slash, also where its name is a long one.
            let mut shown = path.as_os_str().to_owned();
            shown.push("/");
            builder.append_data(&mut header, Path::new(&shown), io::empty())
        }
        Some(Stamp::Link(target)) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            builder.append_link(&mut header, path, OsStr::from_bytes(target.as_bytes()))
        }
        Some(Stamp::File { .. }) => {
            // Whatever is there now is opened without waiting for it, and looked at only then.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = openat2(&directory, name, flags, Mode::empty(), BENEATH)?;
            let stat = fstat(&opened)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Ok(());
            }
            let size = u64::try_from(stat.st_size).unwrap_or_default();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(stat.st_mode & 0o777);
            header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or_default());
            header.set_size(size);
            // As long as was said, also when it is not that long any more.
            let content = File::from(opened).chain(io::repeat(0)).take(size);
            builder.append_data(&mut header, path, content)
        }
    }
}
