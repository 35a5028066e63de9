//! overlayfs: many writable views of one directory.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::Machine;
use super::finding::Finding;
use super::probe::ProbeError;
use super::programs::failure;
use super::scratch::Scratch;

/// How to come by the right to mount.
#[derive(Debug, Clone, Copy)]
enum Way {
    AsRoot,
    InUserNamespace,
}

impl Way {
    /// A mount namespace of its own in any case: the mount ends with the child that made it.
    fn namespaces(self) -> &'static [&'static str] {
        match self {
            Self::AsRoot => &["--mount"],
            Self::InUserNamespace => &["--user", "--map-root-user", "--mount"],
        }
    }

    /// Inside a user namespace overlayfs may keep its notes only in attributes of the user's own.
    fn mount_options(self) -> &'static str {
        match self {
            Self::AsRoot => "",
            Self::InUserNamespace => "userxattr,",
        }
    }

    fn describe(self, worked: &Result<(), String>) -> String {
        let way = match self {
            Self::AsRoot => "as root",
            Self::InUserNamespace => "in a user namespace",
        };
        match worked {
            Ok(()) => format!("mounted {way}"),
            Err(reason) => format!("not mounted {way}: {reason}"),
        }
    }
}

impl Machine {
    /// Mounts one where work will be done, in each way that is open to us.
    pub(crate) fn overlayfs(&self) -> Finding {
        const WHAT: &str = "overlayfs";
        let ways: &[Way] = if rustix::process::geteuid().is_root() {
            &[Way::AsRoot, Way::InUserNamespace]
        } else {
            &[Way::InUserNamespace]
        };
        let results: Vec<_> = ways.iter().map(|way| (way, self.mount(*way))).collect();
        let details: Vec<_> = results.iter().map(|(way, worked)| way.describe(worked)).collect();
        let detail = format!("{} in {}", details.join("; "), self.context.scratch.display());
        if results.iter().any(|(_, worked)| worked.is_ok()) {
            return Finding::ok(WHAT, detail);
        }
        Finding::missing(
            WHAT,
            detail,
            "use Linux 5.11 or newer with overlayfs, let user namespaces be made, and keep the data directory on \
             a file system that is no overlay itself (in a container: a volume); without it working trees are \
             checked out",
        )
    }

    fn mount(&self, way: Way) -> Result<(), String> {
        let directories = OverlayDirectories::new(&self.context.scratch)
            .map_err(|error| format!("no directories to try it in: {error}"))?;
        let options = OverlayDirectories::mount_options(directories.path(), way.mount_options());
        let target = directories.path().join("merged");
        let target = target.to_string_lossy();
        let mount = ["--", "mount", "-t", "overlay", "-o", &options, "overlay", &target];
        let arguments: Vec<_> = way.namespaces().iter().chain(&mount).copied().collect();
        match self.probe("unshare", &arguments) {
            Ok(outcome) if outcome.succeeded() => Ok(()),
            Ok(outcome) => Err(failure(&outcome)),
            Err(error @ ProbeError::NotFound(_)) => Err(format!("not tried, {error}; install util-linux")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The four directories of an overlay, gone afterwards.
#[derive(Debug)]
pub(crate) struct OverlayDirectories {
    scratch: Scratch,
}

impl OverlayDirectories {
    /// Makes them in another directory, with a file below to change and one to remove.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        let scratch = Scratch::new(parent)?;
        for name in ["lower", "upper", "work", "merged"] {
            fs::create_dir(scratch.join(name))?;
        }
        for name in ["lower/changed", "lower/removed"] {
            fs::write(scratch.join(name), "as it was")?;
        }
        Ok(Self { scratch })
    }

    /// The directory in which they are.
    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The options that mount those which are in a directory, after others.
    pub(crate) fn mount_options(directory: &Path, others: &str) -> String {
        let path = |name| directory.join(name).to_string_lossy().into_owned();
        format!(
            "{others}lowerdir={},upperdir={},workdir={}",
            path("lower"),
            path("upper"),
            path("work")
        )
    }
}

impl Drop for OverlayDirectories {
    fn drop(&mut self) {
        // overlayfs leaves a directory here that not even its owner may open, so that removing everything would fail.
        let _ = fs::set_permissions(self.scratch.join("work/work"), Permissions::from_mode(0o700));
    }
}
