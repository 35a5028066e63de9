//! Mounting for bubblewrap what its user cannot reach.
//!
//! bubblewrap looks sources up by path, as the user that it runs as, who cannot pass `/root` or a data directory. Root,
//! who can, mounts them by descriptor in a mount namespace of its own, where nobody else sees them.
//!
//! That namespace has the root file system, the system's own directories and nothing else. Mounts of other workspaces
//! would be kept alive by it after they were taken away elsewhere, and bubblewrap, which looks at all mounts again and
//! again, would be the slower the more there are.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
    unmount,
};
use rustix::path::Arg;
use rustix::process::{chdir, fchdir, pivot_root};
use rustix::thread::UnshareFlags;

use super::idmapped;
use super::plan::{Source, Stage};
use crate::namespace::unshare;

/// Where the stages are. It is on every machine, and there is nothing below that a sandbox should see.
const PLACE: &str = "/sys";

/// What bubblewrap needs, or shows of the system.
const SYSTEM: &[&str] = &[
    "/proc", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
];

/// To have a mount of something that is nowhere yet.
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

/// What is said where a file system cannot map owners.
pub(crate) const NOT_SHOWN: &str = "its file system cannot show files as another user's";

/// The path of a stage.
pub(crate) fn path_of(stage: usize) -> PathBuf {
    PathBuf::from(PLACE).join(stage.to_string())
}

/// Puts this process into a mount namespace of its own, with these stages and what the program that uses them needs.
pub(crate) fn set_up(stages: &[Stage], descriptors: &[OwnedFd], program: &Path) -> io::Result<()> {
    // Only what is mounted in the namespace of whoever asks can be had, so all is taken before it is left.
    let trees = stages
        .iter()
        .map(|stage| taken(stage, descriptors))
        .collect::<io::Result<Vec<_>>>()?;
    let root = open_tree(CWD, "/", CLONE)?;
    let mut system = Vec::new();
    for path in carried(program) {
        let tree = open_tree(CWD, &path, CLONE | OpenTreeFlags::AT_RECURSIVE)?;
        system.push((path, tree));
    }
    unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    move_to(root.as_fd(), CWD, PLACE)?;
    for (path, tree) in &system {
        let below = path.strip_prefix("/").unwrap_or(path);
        move_to(tree.as_fd(), root.as_fd(), below)?;
    }
    // The old root comes to be below the new one, at the same place, and is taken away.
    fchdir(&root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    let place = directory()?;
    for (number, tree) in trees.iter().enumerate() {
        put(&place, &number.to_string(), tree)?;
    }
    Ok(())
}

/// The directories of the system, with all that is mounted below them.
fn carried(program: &Path) -> Vec<PathBuf> {
    let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let mut carried: Vec<PathBuf> = SYSTEM
        .iter()
        .map(PathBuf::from)
        .filter(|path| is_directory(path))
        .collect();
    if !carried.iter().any(|path| program.starts_with(path)) {
        let directory = program.parent().filter(|path| *path != Path::new("/"));
        carried.extend(directory.map(Path::to_owned));
    }
    carried
}

/// A mount of the source that is nowhere yet.
fn taken(stage: &Stage, descriptors: &[OwnedFd]) -> io::Result<OwnedFd> {
    let descriptor = |place: usize| {
        let found = descriptors.get(place).map(AsFd::as_fd);
        found.ok_or(io::ErrorKind::InvalidData)
    };
    let tree = match &stage.source {
        Source::Descriptor(place) => tree_of(descriptor(*place)?)?,
        Source::Path(path) => open_tree(CWD, path, CLONE)?,
    };
    if let Some(owners) = stage.owners {
        let shown = idmapped::show_owners(tree.as_fd(), descriptor(owners.namespace)?);
        if owners.is_needed {
            shown.map_err(|error| io::Error::new(error.kind(), format!("{NOT_SHOWN}: {error}")))?;
        }
    }
    Ok(tree)
}

/// A mount of what a descriptor is open for. One that is mounted nowhere is taken as it is: before Linux 6.15 there was no
/// other way to have it.
pub(crate) fn tree_of(source: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    match open_tree(source, "", CLONE | OpenTreeFlags::AT_EMPTY_PATH) {
        Err(Errno::INVAL) => source.try_clone_to_owned(),
        outcome => Ok(outcome?),
    }
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

fn move_to(mount: BorrowedFd<'_>, directory: BorrowedFd<'_>, path: impl Arg) -> io::Result<()> {
    Ok(move_mount(
        mount,
        "",
        directory,
        path,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?)
}
