//! Commands in namespaces, made by bubblewrap.
//!
//! A command sees the system read-only, its own directories, a private `/tmp`, and nobody else: no other process, no
//! network, no file of this machine's users. It has no capability, cannot get any, and most of the kernel does not
//! exist for it.
//!
//! Where the server is root, bubblewrap runs as a user of its own, so nothing inside is ever root; where it is not, as
//! the server's user, in a user namespace.

mod idmapped;
mod owners;
mod plan;
mod policy;
mod seccomp;
pub(crate) mod staging;
mod system;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use crate::cgroups::Cgroups;
use crate::command::{Access, Command, CommandError, Mount, Network};
use crate::leader::{Confinement, LeaderProgram, Led, Outlet, Pipes, Request};
use crate::machine::program_on;
use crate::sandbox::{Awaited, Backend, Enforcement, Running, Sandbox};
use crate::watch::Watch;
use owners::Owners;
pub(crate) use plan::{Argument, Plan, Rlimits};
use policy::{Facts, Hidden, Role};
pub(crate) use seccomp::filter;
use system::Shown;

/// As whom commands run where the server is root. Nobody else is this user, and nothing belongs to it.
pub const SANDBOX_USER: u32 = 61184;

/// What bubblewrap needs from outside.
#[derive(Debug, Clone)]
pub struct BubblewrapSettings {
    /// The program that stands between this server and a command.
    pub leader: LeaderProgram,
    /// Where programs are looked for: the value of `PATH`. What is there is shown inside.
    pub search_path: OsString,
    /// The home directory of this server, below which some tools are.
    pub home: Option<PathBuf>,
    /// As whom commands run where this server is root: user and group.
    pub user: (u32, u32),
    /// What else of this machine commands may look at.
    pub read_only: Vec<PathBuf>,
    /// Hosts that count as package registries, beside the well-known ones.
    pub registries: Vec<String>,
    /// Whether commands are run although a wall is missing.
    pub allow_weaker: bool,
}

/// Runs commands in namespaces.
#[derive(Debug)]
pub struct Bubblewrap {
    settings: BubblewrapSettings,
    shown: OnceLock<Vec<Shown>>,
    owners: Owners,
}

impl Bubblewrap {
    /// Runs commands with these settings. Nothing is looked at before it is needed.
    #[must_use]
    pub fn new(settings: BubblewrapSettings) -> Self {
        Self {
            settings,
            shown: OnceLock::new(),
            owners: Owners::default(),
        }
    }

    async fn started(&self, command: Command, role: Role) -> Result<Led, CommandError> {
        let bwrap = self.program()?;
        if command.network != Network::None {
            return Err(CommandError::Refused {
                reason: "no proxy lets commands reach others yet".to_owned(),
                remedy: "run it without a network".to_owned(),
            });
        }
        // It takes a while to start, in which the rest is made.
        let outlet = Outlet::open(&self.settings.leader).map_err(CommandError::Prepare)?;
        let groups = Cgroups::of_this_machine().ok();
        let group = groups
            .map(|groups| groups.make(&command.limits))
            .transpose()
            .map_err(CommandError::Prepare)?;
        let (owners, namespaces) = self
            .owners(&command, &bwrap)
            .await
            .map_err(CommandError::Prepare)?;
        let facts = Facts {
            bwrap: &bwrap,
            shown: self.shown(),
            identity: self.identity(),
            is_root: is_root(),
            owners,
            hidden: found(&command),
            groups: group
                .as_ref()
                .zip(groups)
                .map(|(group, groups)| (group.member_lists(), groups.own_member_lists())),
            role,
        };
        let plan = policy::plan(&command, &facts)?;
        let writable = writable(&command.mounts).map_err(CommandError::Prepare)?;
        let watch = Watch::new(command.limits, writable, group.is_none());
        let mut descriptors: Vec<OwnedFd> = command.mounts.into_iter().map(|mount| mount.source).collect();
        descriptors.extend(namespaces);
        let (pipes, descriptors) = Pipes::open(&command.input, descriptors).map_err(CommandError::Prepare)?;
        outlet
            .lead(
                &Request::Confined(Box::new(plan)),
                descriptors,
                pipes,
                command.program,
                command.limits,
                Confinement::new(group, watch),
            )
            .await
            .map_err(CommandError::Prepare)
    }

    fn program(&self) -> Result<PathBuf, CommandError> {
        program_on(&self.settings.search_path, "bwrap").ok_or_else(|| CommandError::Refused {
            reason: "there is no program `bwrap` on the search path, so nothing can be isolated".to_owned(),
            remedy: "install bubblewrap (on Debian: apt install bubblewrap)".to_owned(),
        })
    }

    fn shown(&self) -> &[Shown] {
        self.shown.get_or_init(|| {
            let BubblewrapSettings {
                search_path,
                home,
                read_only,
                ..
            } = &self.settings;
            system::shown(search_path, home.as_deref(), read_only)
        })
    }

    /// As whom commands run.
    fn identity(&self) -> (u32, u32) {
        if is_root() {
            return self.settings.user;
        }
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        (user.as_raw(), group.as_raw())
    }

    /// For each mount of somebody else's, the place among the descriptors of a user namespace that shows it as the
    /// command's own; and these namespaces, which come after the mounts.
    async fn owners(
        &self,
        command: &Command,
        bwrap: &Path,
    ) -> io::Result<(Vec<Option<usize>>, Vec<OwnedFd>)> {
        let mut places = Vec::new();
        let mut namespaces = Vec::new();
        if !is_root() {
            return Ok((places, namespaces));
        }
        let identity = self.identity();
        for mount in &command.mounts {
            let found = fstat(&mount.source)?;
            let owner = (found.st_uid, found.st_gid);
            if owner.0 == identity.0 {
                places.push(None);
                continue;
            }
            let namespace = self.owners.shown_as(owner, identity, bwrap).await?;
            places.push(Some(command.mounts.len() + namespaces.len()));
            namespaces.push(namespace.try_clone()?);
        }
        Ok((places, namespaces))
    }
}

impl Sandbox for Bubblewrap {
    fn backend(&self) -> Backend {
        Backend::Bubblewrap
    }

    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>> {
        Box::pin(async move { Ok(Running::new(self.started(command, Role::Command).await?)) })
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        Box::pin(std::future::ready(Enforcement::default()))
    }
}

/// What bubblewrap complained about, told as what it means.
pub(crate) fn failure(program: &str, complaint: &str) -> CommandError {
    let complaint = complaint.trim().trim_start_matches("bwrap: ");
    let not_started = complaint
        .strip_prefix("execvp ")
        .and_then(|rest| rest.rsplit_once(": "));
    if let Some((_, reason)) = not_started {
        let source = match reason {
            "No such file or directory" => io::ErrorKind::NotFound.into(),
            "Permission denied" => io::ErrorKind::PermissionDenied.into(),
            other => io::Error::other(other.to_owned()),
        };
        return CommandError::Start {
            program: program.to_owned(),
            source,
        };
    }
    CommandError::Refused {
        reason: format!("no sandbox could be made: {complaint}"),
        remedy: "run `agentyard doctor`, which tells what is missing on this machine".to_owned(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What of the hidden is there.
fn found(command: &Command) -> Vec<(PathBuf, Hidden)> {
    let kind_of = |path: &Path| {
        let (mount, below) = command.mounts.iter().find_map(|mount| {
            let below = path.strip_prefix(&mount.at).ok()?;
            (!below.as_os_str().is_empty()).then_some((mount, below))
        })?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = openat2(mount.source.as_fd(), below, flags, Mode::empty(), resolve).ok()?;
        match FileType::from_raw_mode(fstat(opened).ok()?.st_mode) {
            FileType::Directory => Some(Hidden::Directory),
            FileType::Symlink => None,
            _ => Some(Hidden::File),
        }
    };
    let hidden = command.hidden.iter();
    hidden
        .filter_map(|path| Some((path.clone(), kind_of(path)?)))
        .collect()
}

/// The directories that a command may write to, opened once more, to look at them while it does.
fn writable(mounts: &[Mount]) -> io::Result<Vec<OwnedFd>> {
    let mounts = mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    mounts
        .map(|mount| Ok(rustix::fs::openat(&mount.source, ".", flags, Mode::empty())?))
        .collect()
}
