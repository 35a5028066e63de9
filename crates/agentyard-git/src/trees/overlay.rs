//! Views that are mounted over a base (overlayfs).

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::layout::{failed, make_directory};
use super::rights::with_rights;
use crate::Error;
use crate::descriptor::magic_path;
use crate::roots::shown;

/// The directories that make up a view.
pub(super) struct Layers {
    /// What is shared, and never written to.
    pub(super) lower: PathBuf,
    /// What is the view's own.
    pub(super) upper: PathBuf,
    /// The kernel's, on the same file system.
    pub(super) work: PathBuf,
}

/// Longer options do not fit into the page that the kernel takes.
const MAX_OPTIONS: usize = 3500;

impl Layers {
    /// Mounts the view.
    ///
    /// Inode numbers are those of the base, so that an index of the base fits the view. A directory of the base that
    /// is renamed stays in the base and gets a note (`redirect_dir`): without it `mv` would copy, and `git mv` fail.
    /// In a user namespace the kernel has no such notes, as those who can write them could forge them.
    pub(super) fn mount(&self, target: &Path) -> Result<(), Error> {
        let names = [&self.lower, &self.upper, &self.work];
        let opened = names
            .iter()
            .map(|path| open(path))
            .collect::<Result<Vec<_>, _>>()?;
        let plain: Vec<PathBuf> = names.iter().map(|path| (*path).clone()).collect();
        // Through descriptors, names need not be escaped, which kernels have done differently. A person who looks at
        // the list of mounts is better served by plain ones.
        let chosen = if plain.iter().all(|path| is_plain(path)) && options(&plain).len() < MAX_OPTIONS {
            plain
        } else {
            opened.iter().map(magic_path).collect()
        };
        let options = CString::new(options(&chosen)).map_err(|error| refused(target, error.into()))?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        with_rights(|| rustix::mount::mount("overlay", target, "overlay", flags, Some(options.as_c_str())))
            .map_err(|errno| refused(target, errno.into()))
    }
}

/// Tries whether a view can be mounted in a directory, written to, and its directories renamed or at least replaced.
pub(super) fn probe(place: &Path) -> Result<(), Error> {
    let layers = Layers {
        lower: place.join("lower"),
        upper: place.join("upper"),
        work: place.join("work"),
    };
    let target = place.join("view");
    for directory in [
        &layers.lower.join("directory"),
        &layers.upper,
        &layers.work,
        &target,
    ] {
        make_directory(directory)?;
    }
    layers.mount(&target)?;
    let directory = target.join("directory");
    let try_out = || -> io::Result<()> {
        std::fs::write(directory.join("file"), "content")?;
        std::fs::remove_dir_all(&directory)?;
        // Made anew in place of one of the base's, it hides what was in that.
        std::fs::create_dir(&directory)
    };
    try_out().map_err(|error| refused(&target, error))
}

fn options(layers: &[PathBuf]) -> String {
    let names: Vec<String> = layers.iter().map(|path| path.display().to_string()).collect();
    let [lower, upper, work] = names.as_slice() else {
        return String::new();
    };
    let rights = if in_user_namespace() {
        "userxattr"
    } else {
        "redirect_dir=on,metacopy=off"
    };
    format!("lowerdir={lower},upperdir={upper},workdir={work},index=off,xino=on,{rights}")
}

/// Whether this process has its rights in a namespace of its own only.
fn in_user_namespace() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let mut fields = map.split_whitespace();
        let whole = [Some("0"), Some("0"), Some("4294967295")];
        whole != [fields.next(), fields.next(), fields.next()]
    })
}

fn is_plain(path: &Path) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .all(|byte| plain(*byte))
}

fn open(path: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(failed("opened", path))
}

fn refused(target: &Path, error: io::Error) -> Error {
    let errno = Errno::from_io_error(&error);
    let (reason, remedy) = match errno {
        Some(Errno::PERM | Errno::ACCESS) => (
            "this process may not mount (it is not root, and in no user namespace of its own)".to_owned(),
            "run Agentyard as root or where unprivileged user namespaces are allowed",
        ),
        Some(Errno::NODEV) => (
            "this kernel has no overlayfs".to_owned(),
            "load the kernel module `overlay`",
        ),
        Some(Errno::INVAL) => (
            "the data directory's file system cannot hold the changes of an overlay (it may be one itself)"
                .to_owned(),
            "keep the data directory on ext4, XFS or Btrfs, in a container on a volume",
        ),
        _ => (error.to_string(), "look at the kernel's log"),
    };
    Error::state(
        format!("no view could be mounted on {}: {reason}", shown(target)),
        remedy,
    )
}
