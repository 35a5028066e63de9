//! An interpreter that has started already, and the children that it forks.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

use super::packets::{Packet, Packets};
use crate::bubblewrap::{Bubblewrap, Keeper};
use crate::command::{Command, CommandError, Limits, Network};
use crate::egress::EGRESS_PORT;

/// What an interpreter is told to run first: it reads the rest from its standard input.
const LOADER: &str = r#"import os;exec(compile(os.read(0,1000000),"<agentyard>","exec"))"#;

/// The rest.
const SOURCE: &str = concat!(include_str!("runner.py"), "\n\n", include_str!("zygote.py"));

/// How long it may take to be ready, and to fork a child.
const START_WITHIN: Duration = Duration::from_secs(20);
const FORK_WITHIN: Duration = Duration::from_secs(10);

/// What of `/proc` is covered against writing, as bubblewrap does.
const COVERED: &[&str] = &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

/// An interpreter that forks itself for each call. Dropping it ends it, with all its children.
#[derive(Debug)]
pub(super) struct Zygote {
    control: Packets,
    pub(super) started: Instant,
    /// A child that waits for a call already.
    spare: Mutex<Option<Child>>,
    /// Whether one is being made.
    is_preparing: AtomicBool,
    /// Keeps it alive.
    _keeper: Keeper,
}

/// What it is told at its start.
#[derive(Serialize)]
struct Settings {
    filter: String,
    covered: &'static [&'static str],
    /// Where file systems in memory are, how large, and with which mode.
    temporary: Vec<(&'static str, u64, &'static str)>,
    limits: Rlimits,
}

/// What each process may have.
#[derive(Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct Rlimits {
    fsize: u64,
    nofile: u64,
    core: u64,
    /// Only where no group counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nproc: Option<u64>,
}

/// What processes of an interpreter say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub(super) ready: Option<[u32; 3]>,
    pub(super) walled: bool,
    pub(super) waiting: bool,
    pub(super) failed: Option<String>,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) done: Option<i32>,
}

impl Said {
    /// Reads a message; one that makes no sense says nothing.
    pub(super) fn read(packet: &Packet) -> Self {
        serde_json::from_slice(&packet.data).unwrap_or_default()
    }
}

impl Zygote {
    /// Starts an interpreter where this command would run, with nothing of the command's own.
    pub(super) async fn start(
        bubblewrap: &Bubblewrap,
        place: Command,
        counts_by_group: bool,
    ) -> Result<Self, CommandError> {
        let settings = Settings::new(&place, counts_by_group).map_err(CommandError::Prepare)?;
        let program = place.program.clone();
        let (control, theirs) = Packets::pair().map_err(CommandError::Prepare)?;
        let command = Command {
            arguments: ["-S", "-X", "utf8", "-c", LOADER].map(ToOwned::to_owned).to_vec(),
            directory: "/".into(),
            environment: Vec::new(),
            input: Vec::new(),
            network: Network::None,
            ..place
        };
        let mut keeper = bubblewrap.start_keeper(command, theirs).await?;
        let ready = async {
            control.send(SOURCE.as_bytes(), &[]).await?;
            let settings = serde_json::to_vec(&settings)?;
            control.send(&settings, &[]).await?;
            let packet = control.receive().await?;
            let said = packet.as_ref().map(Said::read).unwrap_or_default();
            said.ready
                .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
        };
        let ready = tokio::select! {
            ready = timeout(START_WITHIN, ready) => ready.unwrap_or_else(|late| Err(late.into())),
            words = keeper.ended() => Err(io::Error::other(words)),
        };
        match ready {
            Ok(_) => Ok(Self {
                control,
                started: Instant::now(),
                spare: Mutex::default(),
                is_preparing: AtomicBool::new(false),
                _keeper: keeper,
            }),
            Err(source) => Err(CommandError::Start { program, source }),
        }
    }

    /// A child that waits for its call: the spare one, or a new one.
    pub(super) async fn child(&self, network: Network) -> io::Result<Child> {
        if network == Network::None
            && let Some(child) = self.spare().take()
            && child.lives()
        {
            return Ok(child);
        }
        self.fork(network).await
    }

    /// Has a child ready before it is asked for.
    pub(super) async fn have_spare(&self) {
        if self.spare().as_ref().is_some_and(Child::lives) || self.is_preparing.swap(true, Ordering::Relaxed)
        {
            return;
        }
        if let Ok(child) = self.fork(Network::None).await {
            *self.spare() = Some(child);
        }
        self.is_preparing.store(false, Ordering::Relaxed);
    }

    fn spare(&self) -> MutexGuard<'_, Option<Child>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fork(&self, network: Network) -> io::Result<Child> {
        let forked = async {
            let (channel, channel_end) = Packets::pair()?;
            let (calls, calls_end) = Packets::pair()?;
            let port = if network == Network::None { 0 } else { EGRESS_PORT };
            let wanted = serde_json::to_vec(&serde_json::json!({ "listen": port }))?;
            let ends = [channel_end.as_fd(), calls_end.as_fd()];
            self.control.send(&wanted, &ends).await?;
            drop((channel_end, calls_end));
            let first = said_by(&channel, |said| said.walled).await?;
            // Dropped before it is whole, it must end all the same.
            let first_process = FirstProcess::of(&first)?;
            said_by(&calls, |said| said.waiting).await?;
            Ok(Child {
                first: first_process,
                channel,
                calls,
                listener: first.descriptors,
            })
        };
        timeout(FORK_WITHIN, forked).await?
    }
}

/// Waits for what a new process has to say first.
async fn said_by(socket: &Packets, is_right: impl FnOnce(&Said) -> bool) -> io::Result<Packet> {
    let packet = socket.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let said = Said::read(&packet);
    match said.failed {
        Some(reason) => Err(io::Error::other(reason)),
        None if is_right(&said) => Ok(packet),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl Settings {
    fn new(place: &Command, counts_by_group: bool) -> io::Result<Self> {
        let limits = &place.limits;
        let filter = crate::bubblewrap::filter()?;
        Ok(Self {
            filter: filter.iter().map(|byte| format!("{byte:02x}")).collect(),
            covered: COVERED,
            temporary: crate::bubblewrap::in_memory(place, crate::bubblewrap::HOME),
            limits: Rlimits::new(limits, counts_by_group),
        })
    }
}

impl Rlimits {
    fn new(limits: &Limits, counts_by_group: bool) -> Self {
        Self {
            fsize: limits.file_bytes,
            nofile: limits.open_files,
            core: 0,
            data: (!counts_by_group).then_some(limits.memory_bytes),
            nproc: (!counts_by_group).then_some(u64::from(limits.processes)),
        }
    }
}

/// Two processes that wait for a call, or have one. Dropping this ends them, with all that they have started.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) first: FirstProcess,
    /// What the first one says.
    pub(super) channel: Packets,
    /// What the second one is told, and says.
    pub(super) calls: Packets,
    /// A socket inside, when it is to reach others through that.
    pub(super) listener: Vec<OwnedFd>,
}

impl Child {
    pub(super) fn lives(&self) -> bool {
        self.first.lives()
    }
}

/// The first process in a namespace of its own. When it ends, so does every other there.
#[derive(Debug)]
pub(super) struct FirstProcess {
    pub(super) pid: Pid,
    handle: OwnedFd,
    /// The same, which can be waited for: no pipe, but readable once the process has ended.
    end: pipe::Receiver,
}

impl FirstProcess {
    /// Whoever sent a message. It waits for an answer, so it is still the same.
    fn of(packet: &Packet) -> io::Result<Self> {
        let pid = packet.sender.ok_or(io::ErrorKind::InvalidData)?;
        let handle = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        let end = pipe::Receiver::from_owned_fd_unchecked(handle.try_clone()?)?;
        Ok(Self { pid, handle, end })
    }

    /// Waits for its end, which is that of all the others too.
    pub(super) async fn ended(&self) {
        let _ = self.end.readable().await;
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Who has ended needs none.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    fn lives(&self) -> bool {
        let now = Timespec::default();
        let mut watched = [PollFd::new(&self.handle, PollFlags::IN)];
        matches!(poll(&mut watched, Some(&now)), Ok(0))
    }
}

impl Drop for FirstProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
