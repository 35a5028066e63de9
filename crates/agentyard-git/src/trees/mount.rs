//! What is mounted where.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::layout::failed;
use super::rights::with_rights;
use crate::Error;

/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Whether something is mounted on a directory.
pub(super) fn is_mounted(path: &Path) -> Result<bool, Error> {
    match rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE) {
        Ok(found) => Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(failed("looked at", path)(errno)),
    }
}

/// Whether an open directory is the top of what is mounted there.
pub(super) fn is_root_of_mount(directory: impl AsFd) -> bool {
    rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Unmounts whatever is mounted on a directory and below it, last first. What somebody still uses is taken out of
/// sight, and goes when they are done.
pub(super) fn unmount_all_below(path: &Path) -> Result<(), Error> {
    // Nearly always there is at most the one mount that the caller knows of, and the whole list need not be read.
    if !path.try_exists().unwrap_or(true) {
        return Ok(());
    }
    let text = std::fs::read(MOUNTS).map_err(failed("read", Path::new(MOUNTS)))?;
    let mut points = mount_points(&text);
    points.retain(|point| point.starts_with(path));
    for point in points.iter().rev() {
        unmount(point)?;
    }
    Ok(())
}

fn unmount(point: &Path) -> Result<(), Error> {
    let unmount = |flags| with_rights(|| rustix::mount::unmount(point, UnmountFlags::NOFOLLOW | flags));
    let outcome = match unmount(UnmountFlags::empty()) {
        Err(Errno::BUSY) => unmount(UnmountFlags::DETACH),
        outcome => outcome,
    };
    match outcome {
        // Somebody else was faster.
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("unmounted", point)(io::Error::from(errno))),
    }
}

/// The fifth field of each line, in the order in which they were mounted.
fn mount_points(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(|field| PathBuf::from(OsString::from_vec(unescaped(field))))
        .collect()
}

/// Blanks, tabs, newlines and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_blanks() {
        let text =
            b"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:30 / /a\\040b\\134c rw - overlay overlay rw\n";
        let points = mount_points(text);
        assert_eq!(points, [PathBuf::from("/"), PathBuf::from("/a b\\c")]);
    }

    #[test]
    fn the_top_is_mounted_and_a_directory_of_ours_is_not() {
        assert!(is_mounted(Path::new("/proc")).unwrap());
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_mounted(directory.path()).unwrap());
        assert!(!is_mounted(&directory.path().join("nothing")).unwrap());
    }
}
