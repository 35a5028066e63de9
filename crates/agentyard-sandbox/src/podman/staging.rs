//! Putting directories where podman finds them.
//!
//! Podman takes directories by their paths and shows them with their owners. So a service of ours, when the server is root,
//! has a mount namespace of its own, and into that a directory is mounted by its descriptor, and by owners that the
//! container's user can be. Nobody else sees it there, and it goes as soon as the container has it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{MoveMountFlags, UnmountFlags, move_mount, unmount};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use crate::bubblewrap::idmapped::show_owners;
use crate::bubblewrap::staging::tree_of;
use crate::namespace::unshare;

/// Where directories are put.
#[derive(Debug)]
pub(super) struct Stages {
    /// The mount namespace of podman.
    namespace: Arc<OwnedFd>,
    directory: PathBuf,
    count: AtomicU64,
}

/// A directory that was put there. Dropping this takes it away.
#[derive(Debug)]
pub(super) struct Stage {
    namespace: Arc<OwnedFd>,
    path: PathBuf,
}

impl Stages {
    /// Stages of the podman that is this process, which has a mount namespace of its own.
    pub(super) fn new(podman: rustix::process::Pid, directory: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let namespace = File::open(format!("/proc/{}/ns/mnt", podman.as_raw_nonzero()))?;
        Ok(Self {
            namespace: Arc::new(namespace.into()),
            directory,
            count: AtomicU64::new(0),
        })
    }

    /// Puts a directory there, with the owners that a user namespace shows.
    pub(super) fn put(&self, source: BorrowedFd<'_>, owners: Option<BorrowedFd<'_>>) -> io::Result<Stage> {
        let tree = tree_of(source)?;
        if let Some(owners) = owners {
            show_owners(tree.as_fd(), owners)?;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(number.to_string());
        if FileType::from_raw_mode(fstat(&tree)?.st_mode) == FileType::Directory {
            fs::create_dir(&path)?;
        } else {
            File::create(&path)?;
        }
        let stage = Stage {
            namespace: Arc::clone(&self.namespace),
            path,
        };
        within(&self.namespace, || {
            let whole = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            Ok(move_mount(tree.as_fd(), "", CWD, &stage.path, whole)?)
        })?;
        Ok(stage)
    }
}

impl Stage {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be taken away goes with podman, and nobody else sees it.
        let _ = within(&self.namespace, || Ok(unmount(&self.path, UnmountFlags::DETACH)?));
        // One of the two it is.
        let _ = fs::remove_dir(&self.path).or_else(|_| fs::remove_file(&self.path));
    }
}

/// Does something in another mount namespace: in a thread, which ends there.
fn within(namespace: &OwnedFd, act: impl FnOnce() -> io::Result<()> + Send) -> io::Result<()> {
    let acted = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // A thread that shares its working directory with others cannot go elsewhere.
            unshare(UnshareFlags::FS)?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
            act()
        });
        thread.join()
    });
    acted.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}
