//! What holds a command in a sandbox, beside the sandbox itself: its groups, what looks at it, and its way out.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::Instant;

use super::stopping;
use crate::cgroups::Group;
use crate::command::{CommandError, EndCause, Network, Usage};
use crate::egress::{Denied, Egress, Serving};
use crate::standing::{Load, Reach, invalid_reach};
use crate::watch::{Watch, processor_time, used_memory};

/// How long freezing may take.
const FREEZING: Duration = Duration::from_secs(10);

/// How often it is looked whether it is done.
const INTERVAL: Duration = Duration::from_millis(2);

/// What holds a command that runs in a sandbox, beside the sandbox itself.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    /// The groups in which the kernel counts what it takes.
    pub(crate) group: Option<Group>,
    /// What looks at that which the kernel does not count.
    pub(crate) watch: Option<Watch>,
    /// The first process of the sandbox, once it is there. When it ends, so does every other.
    first: Option<(Pid, OwnedFd)>,
    way_out: WayOut,
    /// Whether it was frozen: who is to end must be let go on.
    is_frozen: AtomicBool,
}

/// How a command reaches others.
#[derive(Debug, Default)]
enum WayOut {
    #[default]
    None,
    /// Through this proxy, as soon as there is a socket inside.
    Planned(Egress, Reach),
    Open(Serving),
}

impl Confinement {
    pub(crate) fn new(group: Option<Group>, watch: Watch, way_out: Option<(Egress, Reach)>) -> Self {
        Self {
            group,
            watch: Some(watch),
            first: None,
            way_out: way_out.map_or(WayOut::None, |(egress, reach)| WayOut::Planned(egress, reach)),
            is_frozen: AtomicBool::new(false),
        }
    }

    /// The first process of the sandbox, once it is there.
    pub(super) fn first(&self) -> Option<Pid> {
        self.first.as_ref().map(|(pid, _)| *pid)
    }

    /// Lets the proxy answer at the socket that was made inside.
    pub(super) fn listen(&mut self, descriptors: Vec<OwnedFd>) {
        let (Some(listener), WayOut::Planned(egress, reach)) =
            (descriptors.into_iter().next(), &self.way_out)
        else {
            return;
        };
        // Where it cannot, commands are told so when they try.
        if let Ok(serving) = egress.serve_reach(listener.into(), reach) {
            self.way_out = WayOut::Open(serving);
        }
    }

    pub(super) fn denied(&self) -> Vec<Denied> {
        match &self.way_out {
            WayOut::Open(serving) => serving.denied(),
            WayOut::None | WayOut::Planned(..) => Vec::new(),
        }
    }

    /// What lists the members of its groups, open to be written to.
    pub(crate) fn open_member_lists(&self) -> io::Result<Vec<OwnedFd>> {
        let lists = self.group.as_ref().map(Group::member_lists).unwrap_or_default();
        let open = |list| Ok(std::fs::OpenOptions::new().write(true).open(list)?.into());
        lists.into_iter().map(open).collect()
    }

    /// The same around a process that is there already, with a socket if it is to reach others.
    pub(crate) fn started_as(mut self, first: Pid, listener: Vec<OwnedFd>) -> Self {
        self.started(first.as_raw_nonzero().get());
        self.listen(listener);
        self
    }

    pub(super) fn started(&mut self, number: i32) {
        let Some(pid) = Pid::from_raw(number) else {
            return;
        };
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
            self.first = Some((pid, handle));
        }
    }

    /// Resolves when the command has taken more than it may.
    pub(crate) async fn exceeded(&mut self) -> EndCause {
        match (&mut self.watch, &self.first) {
            (Some(watch), Some((pid, _))) => watch.exceeded(*pid).await,
            _ => std::future::pending().await,
        }
    }

    /// Lets what is to end have the processors that it needs for that.
    pub(crate) fn loosen(&self) {
        if let Some(group) = &self.group {
            group.lift_cpu();
        }
    }

    /// Ends everybody at once who could not end when told to by a leader.
    pub(super) fn kill_frozen(&self) {
        if self.is_frozen.load(Ordering::Relaxed) {
            self.kill();
        }
    }

    pub(super) fn kill(&self) {
        if let Some((_, first)) = &self.first {
            // Whoever has ended needs no signal.
            let _ = pidfd_send_signal(first, Signal::KILL);
        }
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        match (&self.group, &self.watch) {
            (Some(group), _) => group.usage(),
            (None, Some(watch)) => watch.usage(),
            (None, None) => Usage::default(),
        }
    }

    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::ran_out_of_memory)
    }

    /// Lets the command reach others than before.
    pub(crate) fn set_reach(&self, reach: &Reach) -> Result<(), CommandError> {
        match &self.way_out {
            WayOut::Open(serving) => serving.set_reach(reach).map_err(|error| invalid_reach(&error)),
            _ if reach.network == Network::None => Ok(()),
            WayOut::None | WayOut::Planned(..) => Err(CommandError::Refused {
                reason: "sandboxes may reach nobody from here".to_owned(),
                remedy: "allow a network with the setting `sandbox.network`".to_owned(),
            }),
        }
    }

    /// Stops everybody inside where they are, and returns when they have. Nobody is left half stopped when that fails.
    pub(crate) async fn freeze(&self) -> Result<(), CommandError> {
        let frozen = self.try_to_freeze().await;
        if frozen.is_err() {
            self.thaw();
        }
        frozen.map_err(|error| CommandError::Refused {
            reason: format!("the sandbox could not be frozen: {error}"),
            remedy: "try again, or take it down".to_owned(),
        })
    }

    async fn try_to_freeze(&self) -> io::Result<()> {
        let first = self.first().ok_or(io::ErrorKind::NotFound)?;
        self.is_frozen.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + FREEZING;
        match &self.group {
            Some(group) if group.freeze()? => {
                while !group.is_frozen() {
                    until(deadline).await?;
                }
            }
            _ => {
                while !stopping::stop_all(first) {
                    until(deadline).await?;
                }
            }
        }
        Ok(())
    }

    /// Lets everybody inside go on.
    pub(crate) fn thaw(&self) {
        self.is_frozen.store(false, Ordering::Relaxed);
        if let Some(group) = &self.group {
            group.thaw();
        }
        if let Some(first) = self.first() {
            stopping::go_on(first);
        }
    }

    /// What is taken at the moment, but for disks.
    pub(crate) fn load(&self) -> Load {
        match (&self.group, self.first()) {
            (Some(group), _) => {
                let (memory_bytes, cache_bytes) = group.memory_now();
                Load {
                    cpu: group.usage().cpu,
                    memory_bytes,
                    cache_bytes,
                    disk_bytes: None,
                }
            }
            (None, Some(first)) => Load {
                cpu: Some(processor_time(first)),
                memory_bytes: Some(used_memory(first)),
                ..Load::default()
            },
            (None, None) => Load::default(),
        }
    }
}

/// Waits a moment, unless it has taken too long.
async fn until(deadline: Instant) -> io::Result<()> {
    if Instant::now() > deadline {
        return Err(io::ErrorKind::TimedOut.into());
    }
    tokio::time::sleep(INTERVAL).await;
    Ok(())
}
