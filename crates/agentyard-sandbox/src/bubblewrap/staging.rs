//! Mounting for bubblewrap what its user cannot reach.
//!
//! bubblewrap looks sources up by path, as the user that it runs as, who cannot pass `/root` or a data directory. Root,
//! who can, mounts them by descriptor in a mount namespace of its own, where nobody else sees them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};
use rustix::thread::UnshareFlags;

use super::idmapped;
use super::plan::{Source, Stage};
use crate::namespace::unshare;

/// Where the stages are. It is on every machine, and there is nothing below that a sandbox should see.
const PLACE: &str = "/sys";

/// What is said where a file system cannot map owners.
pub(crate) const NOT_SHOWN: &str = "its file system cannot show files as another user's";

/// The path of a stage.
pub(crate) fn path_of(stage: usize) -> PathBuf {
    PathBuf::from(PLACE).join(stage.to_string())
}

/// Puts this process, which has a single thread, into a mount namespace of its own, with these stages.
pub(crate) fn set_up(stages: &[Stage], descriptors: &[OwnedFd]) -> io::Result<()> {
    // Only what is mounted in the namespace of whoever asks can be had, so they are taken before it is left.
    let trees = stages
        .iter()
        .map(|stage| taken(stage, descriptors))
        .collect::<io::Result<Vec<_>>>()?;
    unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let place = directory()?;
    for (number, tree) in trees.iter().enumerate() {
        put(&place, &number.to_string(), tree)?;
    }
    Ok(())
}

/// A mount of the source that is nowhere yet.
fn taken(stage: &Stage, descriptors: &[OwnedFd]) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let descriptor = |place: usize| {
        let found = descriptors.get(place).map(AsFd::as_fd);
        found.ok_or(io::ErrorKind::InvalidData)
    };
    let tree = match &stage.source {
        Source::Descriptor(place) => {
            open_tree(descriptor(*place)?, "", flags | OpenTreeFlags::AT_EMPTY_PATH)?
        }
        Source::Path(path) => open_tree(CWD, path, flags)?,
    };
    if let Some(owners) = stage.owners {
        let shown = idmapped::show_owners(tree.as_fd(), descriptor(owners.namespace)?);
        if owners.is_needed {
            shown.map_err(|error| io::Error::new(error.kind(), format!("{NOT_SHOWN}: {error}")))?;
        }
    }
    Ok(tree)
}

/// An empty directory to mount in, on no disk.
fn directory() -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "mode", "0755")?;
    fsconfig_set_string(context.as_fd(), "size", "1m")?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    move_to(mount.as_fd(), CWD, PLACE)?;
    Ok(mount)
}

fn put(place: &OwnedFd, name: &str, tree: &OwnedFd) -> io::Result<()> {
    if FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory {
        mkdirat(place, name, Mode::from_raw_mode(0o755))?;
    } else {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(place, name, flags, Mode::from_raw_mode(0o644))?;
    }
    move_to(tree.as_fd(), place.as_fd(), name)
}

fn move_to(mount: BorrowedFd<'_>, directory: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    Ok(move_mount(
        mount,
        "",
        directory,
        path,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?)
}
