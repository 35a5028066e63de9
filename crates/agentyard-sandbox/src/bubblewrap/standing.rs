//! A sandbox that stays: a daemon of ours inside, and a task out here that looks after it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use agentyard_envd::Http2;
use rustix::fs::OFlags;
use tokio::net::UnixStream;

use super::policy::Role;
use super::{Inner, KEEPER_LIFE, writable};
use crate::command::{Access, Command, CommandError, EndCause, Limits, Mount};
use crate::egress::Egress;
use crate::leader::Led;
use crate::sandbox::Awaited;
use crate::standing::{Held, Load, Reach, STANDING_HOME, Scales, Site, Standing, end_of, invalid_reach};

/// Where the daemon's program is inside.
pub(crate) const DAEMON: &str = "/run/agentyard";

/// A program that calls [`agentyard_envd::serve`] with its standard input, and the words that make it do so.
#[derive(Debug, Clone)]
pub struct DaemonProgram {
    /// The program. It is shown inside.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl DaemonProgram {
    /// What starts the daemon of a sandbox: with its program among the sandbox's directories.
    pub(crate) fn command(&self, site: Site) -> io::Result<Command> {
        let mut mounts = site.mounts;
        let shown = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::PATH.bits().cast_signed())
            .open(&self.program)?;
        mounts.push(Mount {
            source: shown.into(),
            // By whichever link it was named.
            host_path: self.program.canonicalize()?,
            at: DAEMON.into(),
            access: Access::ReadOnly,
        });
        Ok(Command {
            program: DAEMON.to_owned(),
            arguments: self.arguments.clone(),
            mounts,
            directory: STANDING_HOME.into(),
            hidden: Vec::new(),
            environment: site.environment,
            input: Vec::new(),
            network: site.reach.network,
            limits: Limits {
                duration: KEEPER_LIFE,
                ..site.limits
            },
        })
    }
}

impl Inner {
    pub(super) async fn stand_up(&self, site: Site) -> Result<Standing, CommandError> {
        self.must_hold().await?;
        let way_out = self.standing_way_out(&site.reach)?;
        let (ours, theirs) = StdUnixStream::pair().map_err(CommandError::Prepare)?;
        let command = self
            .settings
            .daemon
            .command(site)
            .map_err(CommandError::Prepare)?;
        let scales = Scales::new(writable(&command.mounts).map_err(CommandError::Prepare)?);
        let mut led = self
            .started_with(command, Role::Daemon, Some(theirs.into()), way_out)
            .await?;
        led.sandboxed().await?;
        let connection = connected(ours).await.map_err(CommandError::Prepare)?;
        Ok(Standing::held(connection, Daemon { led, scales }))
    }

    /// The way out of a sandbox that stays. It is there even if it leads nowhere yet: that may change.
    fn standing_way_out(&self, reach: &Reach) -> Result<Option<(Egress, Reach)>, CommandError> {
        reach.check().map_err(|error| invalid_reach(&error))?;
        match (&self.settings.egress, reach.network) {
            (Some(egress), _) => Ok(Some((egress.clone(), reach.clone()))),
            (None, network) => self.way_out(network),
        }
    }
}

async fn connected(socket: StdUnixStream) -> io::Result<Http2> {
    socket.set_nonblocking(true)?;
    Http2::over(UnixStream::from_std(socket)?)
        .await
        .map_err(io::Error::other)
}

/// A daemon in its sandbox.
#[derive(Debug)]
struct Daemon {
    led: Led,
    scales: Arc<Scales>,
}

impl Held for Daemon {
    fn ended(&mut self) -> Awaited<'_, EndCause> {
        Box::pin(end_of(&mut self.led))
    }

    fn kill(&mut self) {
        self.led.kill();
    }

    fn freeze(&mut self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(self.led.confinement().freeze())
    }

    fn thaw(&mut self) -> Awaited<'_, Result<(), CommandError>> {
        self.led.confinement().thaw();
        Box::pin(async { Ok(()) })
    }

    fn load(&mut self) -> Awaited<'static, Load> {
        let load = self.led.confinement().load();
        Box::pin(Arc::clone(&self.scales).added_to(load))
    }

    fn set_reach(&mut self, reach: &Reach) -> Result<(), CommandError> {
        self.led.confinement().set_reach(reach)
    }
}
