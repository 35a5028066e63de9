//! Commands on the host itself: no isolation, but nothing of a command outlives it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::command::{Command, CommandError, Mount};
use crate::leader::{Confinement, Launch, LeaderProgram, Leaders, Led, Pipes, Request};
use crate::sandbox::{Awaited, Backend, Enforcement, Running, Sandbox, Weakness};

/// Runs commands on the host.
#[derive(Debug, Clone)]
pub struct Host {
    leaders: Leaders,
}

impl Host {
    /// Runs commands under this leader.
    #[must_use]
    pub fn new(leader: LeaderProgram) -> Self {
        Self {
            leaders: Leaders::new(leader),
        }
    }

    async fn started(&self, command: Command) -> io::Result<Led> {
        let directory = directory_of(&command)?;
        let outlet = self.leaders.next()?;
        let (pipes, descriptors) = Pipes::open(&command.input, vec![directory])?;
        let program = command.program.clone();
        let request = Request::OnHost(Launch {
            program: command.program,
            arguments: command.arguments,
            environment: command.environment,
        });
        let confinement = Confinement::default();
        outlet
            .lead(&request, descriptors, pipes, program, command.limits, confinement)
            .await
    }
}

impl Sandbox for Host {
    fn backend(&self) -> Backend {
        Backend::Host
    }

    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>> {
        Box::pin(async move {
            let led = self.started(command).await.map_err(CommandError::Prepare)?;
            Ok(Running::new(led))
        })
    }

    fn path_inside(&self, mount: &Mount) -> PathBuf {
        mount.host_path.clone()
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        let nothing = Weakness {
            what: "isolation".to_owned(),
            reason: "commands run on the host itself and can do whatever its user can".to_owned(),
            remedy: "install bubblewrap and turn `sandbox.allow_host` off".to_owned(),
        };
        Box::pin(std::future::ready(Enforcement {
            holds: vec!["time, output: watched".to_owned()],
            weaker: vec![nothing],
            breaches: Vec::new(),
        }))
    }
}

/// The directory in which a command starts, as this machine knows it.
fn directory_of(command: &Command) -> io::Result<OwnedFd> {
    let found = command.mounts.iter().find_map(|mount| {
        let below = command.directory.strip_prefix(&mount.at).ok()?;
        Some((mount, below))
    });
    let Some((mount, below)) = found else {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the directory to run in is in none of the mounts",
        ));
    };
    if below.as_os_str().is_empty() {
        return mount.source.try_clone();
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&mount.source, below, flags, Mode::empty(), resolve)?)
}
