//! A look into a container that is made but has not started: whether it is what was asked for, and what it still needs.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::command::Mount;
use crate::egress::EGRESS_PORT;

/// The first process of a container and what it sees. Descriptors, so that they never mean another one.
#[derive(Debug)]
pub(super) struct Inside {
    process: OwnedFd,
    /// What the kernel tells about it.
    facts: OwnedFd,
    root: OwnedFd,
}

impl Inside {
    pub(super) fn open(first_process: Pid) -> io::Result<Self> {
        let facts = Path::new("/proc").join(first_process.as_raw_nonzero().to_string());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let facts = openat(CWD, facts, flags, Mode::empty())?;
        Ok(Self {
            process: pidfd_open(first_process, PidfdFlags::empty())?,
            root: openat(&facts, "root", flags, Mode::empty())?,
            facts,
        })
    }

    /// Podman takes directories by their paths. Whoever could move them in between gains nothing: this compares.
    pub(super) fn has_mounts(&self, mounts: &[Mount]) -> io::Result<()> {
        for mount in mounts {
            let (seen, meant) = (fstat(self.find(&mount.at)?)?, fstat(&mount.source)?);
            if (seen.st_dev, seen.st_ino) != (meant.st_dev, meant.st_ino) {
                return Err(io::Error::new(
                    io::ErrorKind::StaleNetworkFileHandle,
                    format!("{} was moved meanwhile", mount.at.display()),
                ));
            }
        }
        Ok(())
    }

    /// Whether a program can be started. Its parent could only say so in its own words, in the program's output.
    pub(super) fn has_program(&self, program: &str, search_path: &str, directory: &Path) -> io::Result<()> {
        if program.contains('/') {
            return self.is_program(&directory.join(program));
        }
        let mut failure = io::ErrorKind::NotFound.into();
        for place in search_path.split(':').filter(|place| place.starts_with('/')) {
            match self.is_program(&Path::new(place).join(program)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// A socket of this process that only programs inside can reach. A thread goes in for it and ends there.
    pub(super) fn listen(&self) -> io::Result<TcpListener> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let network = openat(&self.facts, "ns/net", flags, Mode::empty())?;
        let entered = std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
                TcpListener::bind((Ipv4Addr::LOCALHOST, EGRESS_PORT))
            });
            inside.join()
        });
        entered.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Ends the container with everything in it, without podman's help.
    pub(super) fn kill(&self) {
        // What has ended already needs no end.
        let _ = pidfd_send_signal(&self.process, Signal::KILL);
    }

    fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        Ok(openat2(&self.root, path, flags, Mode::empty(), resolve)?)
    }

    fn is_program(&self, path: &Path) -> io::Result<()> {
        let found = fstat(self.find(path)?)?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if is_file && found.st_mode & 0o111 != 0 {
            return Ok(());
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
