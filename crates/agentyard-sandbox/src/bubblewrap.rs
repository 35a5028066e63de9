//! Commands in namespaces, made by bubblewrap.
//!
//! A command sees the system read-only, its own directories, a private `/tmp`, and nobody else: no other process, no
//! network, no file of this machine's users. It has no capability, cannot get any, and most of the kernel does not
//! exist for it.
//!
//! Where the server is root, bubblewrap runs as a user of its own, so nothing inside is ever root; where it is not, as
//! the server's user, in a user namespace.

pub(crate) mod idmapped;
mod keeper;
pub(crate) mod owners;
mod plan;
mod policy;
mod proof;
mod seccomp;
pub(crate) mod staging;
mod standing;
mod system;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use tokio::sync::OnceCell;

use crate::cgroups::Cgroups;
use crate::command::{Access, Command, CommandError, Limits, Mount, Network};
use crate::egress::Egress;
use crate::leader::{Confinement, LeaderProgram, Leaders, Led, Pipes, Request};
use crate::machine::{program_on, user_namespaces_remedy};
use crate::sandbox::{Awaited, Backend, Enforcement, Running, Sandbox, Weakness};
use crate::standing::{Reach, Site, Standing};
use crate::watch::Watch;
pub(crate) use keeper::Keeper;
use owners::Owners;
pub(crate) use plan::{Argument, Plan, Rlimits};
use policy::{Facts, Hidden, Role};
pub(crate) use policy::{HOME, in_memory};
pub(crate) use seccomp::filter;
pub use standing::DaemonProgram;
use system::Shown;

/// As whom commands run where the server is root. Nobody else is this user, and nothing belongs to it.
pub const SANDBOX_USER: u32 = 61184;

/// How bubblewrap complains where there are no user namespaces.
const NO_NAMESPACES: &[&str] = &[
    "No permissions to create a new namespace",
    "No permissions to creating new namespace",
    "Creating new namespace failed",
    "setting up uid map",
    "could not be mounted: Operation not permitted",
];

/// How long a keeper may live: until it is not wanted any more.
const KEEPER_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What bubblewrap needs from outside.
#[derive(Debug, Clone)]
pub struct BubblewrapSettings {
    /// The program that stands between this server and a command.
    pub leader: LeaderProgram,
    /// The program that answers inside sandboxes that stay.
    pub daemon: DaemonProgram,
    /// Where programs are looked for: the value of `PATH`. What is there is shown inside.
    pub search_path: OsString,
    /// The home directory of this server, below which some tools are.
    pub home: Option<PathBuf>,
    /// As whom commands run where this server is root: user and group.
    pub user: (u32, u32),
    /// What else of this machine commands may look at.
    pub read_only: Vec<PathBuf>,
    /// The way out for commands that may reach others. Without it there is none.
    pub egress: Option<Egress>,
    /// Whether commands are run although a wall is missing.
    pub allow_weaker: bool,
}

/// Runs commands in namespaces. Copies are the same.
#[derive(Debug, Clone)]
pub struct Bubblewrap(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    leaders: Leaders,
    settings: BubblewrapSettings,
    shown: OnceLock<Vec<Shown>>,
    owners: Owners,
    /// What was found when the walls were tried.
    proven: OnceCell<Enforcement>,
}

impl Bubblewrap {
    /// Runs commands with these settings. Nothing is looked at before it is needed.
    #[must_use]
    pub fn new(settings: BubblewrapSettings) -> Self {
        Self(Arc::new(Inner {
            leaders: Leaders::new(settings.leader.clone()),
            settings,
            shown: OnceLock::new(),
            owners: Owners::default(),
            proven: OnceCell::new(),
        }))
    }

    /// Starts a process of ours that makes the same walls anew for each of its children. It may do in its own user
    /// namespace what that takes, and no filter keeps it from it. It reads from a socket on its standard input.
    pub(crate) async fn start_keeper(
        &self,
        command: Command,
        socket: OwnedFd,
    ) -> Result<Keeper, CommandError> {
        let limits = Limits {
            duration: KEEPER_LIFE,
            ..command.limits
        };
        let command = Command { limits, ..command };
        self.0.must_hold().await?;
        let led = self.0.started(command, Role::Keeper, Some(socket)).await?;
        Keeper::new(led).await
    }

    /// The proxy for a command, and whom it may reach through that.
    pub(crate) fn way_out(&self, network: Network) -> Result<Option<(Egress, Reach)>, CommandError> {
        self.0.way_out(network)
    }
}

impl Inner {
    /// What holds, tried when somebody wants to know for the first time.
    async fn enforcement(&self) -> Result<&Enforcement, CommandError> {
        self.proven
            .get_or_try_init(|| async {
                let attempt = self.started(proof::attempt(), Role::Command, None).await?;
                proof::judged(attempt, self.identity()).await
            })
            .await
    }

    /// Refuses to run anything where a wall has given way.
    async fn must_hold(&self) -> Result<(), CommandError> {
        let enforcement = self.enforcement().await?;
        match enforcement.breaches.first() {
            Some(breach) if !self.settings.allow_weaker => Err(CommandError::Refused {
                reason: format!(
                    "a sandbox does not hold here ({}): {}",
                    breach.what, breach.reason
                ),
                remedy: breach.remedy.clone(),
            }),
            _ => Ok(()),
        }
    }

    async fn started(
        &self,
        command: Command,
        role: Role,
        socket: Option<OwnedFd>,
    ) -> Result<Led, CommandError> {
        let way_out = self.way_out(command.network)?;
        self.started_with(command, role, socket, way_out).await
    }

    async fn started_with(
        &self,
        command: Command,
        role: Role,
        socket: Option<OwnedFd>,
        way_out: Option<(Egress, Reach)>,
    ) -> Result<Led, CommandError> {
        let bwrap = self.program()?;
        // It takes a while to start, in which the rest is made.
        let outlet = self.leaders.next().map_err(CommandError::Prepare)?;
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
            has_way_out: way_out.is_some(),
        };
        let plan = policy::plan(&command, &facts)?;
        let writable = writable(&command.mounts).map_err(CommandError::Prepare)?;
        let watch = Watch::new(command.limits, writable, group.is_none());
        let mut descriptors: Vec<OwnedFd> = command.mounts.into_iter().map(|mount| mount.source).collect();
        descriptors.extend(namespaces);
        let (pipes, mut descriptors) =
            Pipes::open(&command.input, descriptors).map_err(CommandError::Prepare)?;
        if let Some(socket) = socket {
            descriptors.stdin = socket;
        }
        outlet
            .lead(
                &Request::Confined(Box::new(plan)),
                descriptors,
                pipes,
                command.program,
                command.limits,
                Confinement::new(group, watch, way_out),
            )
            .await
            .map_err(CommandError::Prepare)
    }

    /// The proxy for a command, and whom it may reach through that.
    fn way_out(&self, network: Network) -> Result<Option<(Egress, Reach)>, CommandError> {
        match (network, &self.settings.egress) {
            (Network::None, _) => Ok(None),
            (network, Some(egress)) => {
                let reach = Reach {
                    network,
                    ..Reach::default()
                };
                Ok(Some((egress.clone(), reach)))
            }
            (_, None) => Err(CommandError::Refused {
                reason: "commands may reach nobody from here".to_owned(),
                remedy: "run it without a network, or allow one with the setting `sandbox.network`"
                    .to_owned(),
            }),
        }
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
            // The top of a mounted view stays its server's, and is shared with the sandbox's group; what is in it was
            // given away, since such a file system cannot show it as somebody else's.
            let is_shared = owner.1 == identity.1 && found.st_mode & 0o020 != 0;
            if owner.0 == identity.0 || is_shared {
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
        Box::pin(async move {
            self.0.must_hold().await?;
            let led = self.0.started(command, Role::Command, None).await?;
            Ok(Running::new(led))
        })
    }

    fn stand_up(&self, site: Site) -> Awaited<'_, Result<Standing, CommandError>> {
        Box::pin(self.0.stand_up(site))
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        Box::pin(async move {
            match self.0.enforcement().await {
                Ok(enforcement) => enforcement.clone(),
                Err(error) => Enforcement {
                    breaches: vec![cannot(&error)],
                    ..Enforcement::default()
                },
            }
        })
    }
}

/// A sandbox that cannot be had.
fn cannot(error: &CommandError) -> Weakness {
    let (reason, remedy) = match error {
        CommandError::Refused { reason, remedy } => (reason.clone(), remedy.clone()),
        other => (
            std::iter::successors(Some(other as &dyn std::error::Error), |error| error.source())
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(": "),
            "run `agentyard doctor`, which tells what is missing on this machine".to_owned(),
        ),
    };
    Weakness {
        what: "sandbox: none".to_owned(),
        reason,
        remedy,
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
    let remedy = if NO_NAMESPACES.iter().any(|sign| complaint.contains(sign)) {
        user_namespaces_remedy()
    } else if complaint.contains(staging::NOT_SHOWN) {
        "put the data directory on ext4, xfs or btrfs, or do not run this server as root".to_owned()
    } else {
        "run `agentyard doctor`, which tells what is missing on this machine".to_owned()
    };
    CommandError::Refused {
        reason: format!("no sandbox could be made: {complaint}"),
        remedy,
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

/// The directories that a command may write to, to look at them while it does.
fn writable(mounts: &[Mount]) -> io::Result<Vec<OwnedFd>> {
    let mounts = mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
    mounts.map(|mount| mount.source.try_clone()).collect()
}
