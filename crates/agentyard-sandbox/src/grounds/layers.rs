//! Views over layers (overlayfs).
//!
//! Root mounts them nowhere: a view is a descriptor, which a sandbox's leader puts into a mount namespace of its own, and
//! which is gone with the last who holds it. Others, who have a namespace for their data directory only, mount them at a
//! path in that, since bubblewrap takes nothing but paths from them; the kernel ends these with the namespace.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
};

use super::copying::Notes;
use crate::namespace::with_rights;

/// The directories that make up a view.
pub(super) struct Layers {
    /// What may be written to, and a directory of the kernel's own beside it. Without it nothing may be.
    pub(super) upper: Option<(PathBuf, PathBuf)>,
    /// What is shared and never written to, the uppermost first.
    pub(super) lower: Vec<PathBuf>,
}

impl Layers {
    /// A view that a sandbox can be shown: nowhere, or at this path where that is needed.
    pub(super) fn shown(&self, path: &Path) -> io::Result<OwnedFd> {
        let view = self.looked_at()?;
        if is_root() {
            return Ok(view);
        }
        unmount(path)?;
        let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        with_rights(|| move_mount(view.as_fd(), "", CWD, path, whole))?;
        open(path, OFlags::RDONLY)
    }

    /// A view that is mounted nowhere.
    pub(super) fn looked_at(&self) -> io::Result<OwnedFd> {
        let mut opened = Vec::new();
        // Through descriptors paths are short and need not be escaped.
        let mut name = |path: &Path| -> io::Result<String> {
            let descriptor = open(path, OFlags::PATH)?;
            let name = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
            opened.push(descriptor);
            Ok(name)
        };
        let lower = self
            .lower
            .iter()
            .map(|path| name(path))
            .collect::<io::Result<Vec<_>>>()?;
        let mut options = vec![("lowerdir", lower.join(":"))];
        if let Some((upper, work)) = &self.upper {
            options.extend([("upperdir", name(upper)?), ("workdir", name(work)?)]);
        }
        options.push(("index", "off".to_owned()));
        with_rights(|| mounted(&options))
    }
}

fn mounted(options: &[(&str, String)]) -> io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(context.as_fd(), *name, value.as_str())?;
    }
    if !in_user_namespace() {
        // A directory of a layer that is renamed stays there and gets a note; else programs would have to copy it.
        fsconfig_set_string(context.as_fd(), "redirect_dir", "on")?;
        fsconfig_set_string(context.as_fd(), "metacopy", "off")?;
    } else {
        fsconfig_set_flag(context.as_fd(), "userxattr")?;
    }
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        attributes,
    )?)
}

/// Takes away what is mounted at a path. Where nothing is, nothing needs to be.
pub(super) fn unmount(path: &Path) -> io::Result<()> {
    loop {
        match with_rights(|| rustix::mount::unmount(path, UnmountFlags::DETACH)) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOENT | Errno::PERM) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// How this kernel marks what a layer hides.
pub(super) fn notes() -> Notes {
    if in_user_namespace() {
        Notes::User
    } else {
        Notes::Trusted
    }
}

/// Whether a view can be had in a directory, and be written to.
pub(super) fn work_in(place: &Path) -> bool {
    let attempt = || -> io::Result<()> {
        for name in ["lower/directory", "upper", "work", "view"] {
            fs::create_dir_all(place.join(name))?;
        }
        let layers = Layers {
            upper: Some((place.join("upper"), place.join("work"))),
            lower: vec![place.join("lower")],
        };
        let at = place.join("view");
        let view = layers.shown(&at)?;
        rustix::fs::unlinkat(&view, "directory", rustix::fs::AtFlags::REMOVEDIR)?;
        rustix::fs::mkdirat(&view, "directory", Mode::RWXU)?;
        drop(view);
        unmount(&at)
    };
    attempt().is_ok()
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Whether this process has its rights in a namespace of its own only, where the kernel keeps notes in attributes of the
/// user's own.
fn in_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<&str> = map.split_whitespace().collect();
    fields != ["0", "0", "4294967295"]
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
