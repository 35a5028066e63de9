//! The namespace of a data directory: where processes that do not run as root may mount overlayfs.
//!
//! Every process of one user that works on workspaces of one data directory is in the same pair of namespaces, a
//! user namespace and the mount namespace that belongs to it. So a view that one of them mounts is there for all,
//! and none is mounted twice. The kernel ends both with the last process inside, and the mounts with them.
//!
//! Inside, a process is the same user as outside, with the same files. What differs: root and everybody else are
//! shown as nobody, so that programs cannot become root (`sudo`), and nobody can leave.
//!
//! Both namespaces are entered by a process that has a single thread, or not at all.

mod capabilities;
mod join;
mod make;
mod members;
mod ssh_settings;
mod trial;

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) use capabilities::with_rights;
use join::Outcome;
pub(crate) use make::unshare;
use members::{Member, Members};
pub use trial::{Trial, try_in};

/// Why somebody who is inside already may not mount.
const GUEST: &str = "this process was started inside the namespace of the data directory, where only those may mount \
                     who came from outside; run it outside of a workspace's shell";

/// How a process stands to the namespace of its data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is root, which needs none.
    Root,
    /// It is inside, and may mount.
    Inside,
    /// It was started by a process inside. It sees what is mounted there, and may not mount itself; why.
    Guest(String),
    /// It is outside; why.
    Outside(String),
}

impl Presence {
    /// Whether this process may mount a view.
    #[must_use]
    pub fn may_mount(&self) -> bool {
        matches!(self, Self::Root | Self::Inside)
    }

    /// Why it may not.
    #[must_use]
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Self::Root | Self::Inside => None,
            Self::Guest(reason) | Self::Outside(reason) => Some(reason),
        }
    }
}

/// Enters the namespace of a data directory, which is made when there is none. Root stays where it is, and so does
/// everybody where this cannot be done.
///
/// To be called before the process has a second thread: the kernel lets no other enter. The current directory stays
/// the same by its name.
#[must_use]
pub fn enter(data_directory: &Path, trial: &Trial) -> Presence {
    if rustix::process::geteuid().is_root() {
        return Presence::Root;
    }
    match enter_or_make(data_directory, trial) {
        Ok(presence) => presence,
        Err(reason) => Presence::Outside(reason),
    }
}

/// Becomes another program, in a directory. Whoever is inside the namespace stays there, as one of those who keep it.
/// Comes back only when that fails.
pub fn become_program(program: &OsStr, arguments: &[impl AsRef<OsStr>], directory: &Path) -> io::Error {
    if let Some(member) = MEMBERSHIP.get()
        && let Err(error) = member.outlive_this_program()
    {
        return error;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a person's own program, at their word, with their environment"
    )]
    let mut command = Command::new(program);
    // Shells believe this variable rather than find out.
    command
        .args(arguments)
        .current_dir(directory)
        .env("PWD", directory);
    command.exec()
}

/// What makes this process a member, as long as it lives.
static MEMBERSHIP: OnceLock<Member> = OnceLock::new();

fn enter_or_make(data_directory: &Path, trial: &Trial) -> Result<Presence, String> {
    let locks = lock_directory(data_directory)?;
    let mut members = Members::open(&locks)?;
    while let Some(member) = members.find()? {
        match join::join(member, &locks) {
            Ok(Outcome::Joined) => return stay(members),
            Ok(Outcome::AlreadyInside) => return Ok(Presence::Guest(GUEST.to_owned())),
            Err(reason) if members.find()? == Some(member) => return Err(reason),
            // It has ended meanwhile, and what went wrong says nothing.
            Err(_) => {}
        }
    }
    trial.must_have_worked(&mut members, data_directory)?;
    make::make()?;
    // Nothing depends on it but ssh, which then says itself what it does not like.
    let _ = ssh_settings::make_ours(&locks);
    stay(members)
}

fn stay(members: Members) -> Result<Presence, String> {
    capabilities::lay_down().map_err(|error| format!("rights could not be laid down: {error}"))?;
    let member = members.join()?;
    // A second call would find the process already inside, and never come here.
    let _ = MEMBERSHIP.set(member);
    Ok(Presence::Inside)
}

fn lock_directory(data_directory: &Path) -> Result<PathBuf, String> {
    let locks = data_directory.join("locks");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&locks)
        .map_err(|error| format!("{} could not be made: {error}", locks.display()))?;
    Ok(locks)
}
