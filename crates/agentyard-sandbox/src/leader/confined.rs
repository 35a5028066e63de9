//! A command in a sandbox.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, memfd_create, openat, unlinkat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, geteuid, getrlimit, pidfd_open, pidfd_send_signal, prlimit,
    setrlimit,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Deserialize;

use super::message::{Descriptors, Report};
use super::tree::{self, Tree};
use super::{GRACE, Word, pid_of, wait};
use crate::bubblewrap::{Argument, Plan, Rlimits, filter, staging};

/// How often the end of what was asked to end is looked for.
const INTERVAL: Duration = Duration::from_millis(5);

/// With fewer files no sandbox can be prepared.
const FEWEST_FILES: u64 = 64;

/// Makes a sandbox, runs its command to its end, and tells how it ended.
pub(super) fn run(plan: Plan, descriptors: Descriptors, server: &UnixStream) -> io::Result<()> {
    // Before anything is mounted over what leads to them.
    let groups = Groups::of(&plan);
    let report = carried_out(&plan, descriptors, server, &groups)?;
    if report.send(server, None).is_ok() {
        until_understood(server);
    }
    groups.remove();
    Ok(())
}

fn carried_out(
    plan: &Plan,
    descriptors: Descriptors,
    server: &UnixStream,
    groups: &Groups,
) -> io::Result<Report> {
    let mut sandbox = match Confined::start(plan, descriptors, server) {
        Ok(Some(sandbox)) => sandbox,
        Ok(None) => return Ok(Report::NotConfined { reason: None }),
        Err(error) => {
            let reason = Some(error.to_string());
            return Ok(Report::NotConfined { reason });
        }
    };
    let was_told = sandbox.watch(server)?;
    if was_told || !sandbox.is_empty() {
        sandbox.end(groups)?;
    }
    Ok(match sandbox.exit_code() {
        Some(code) => Report::Exited {
            code: Some(code),
            signal: None,
        },
        // It was ended before it could tell, or it never came to that.
        None if was_told || sandbox.bwrap.signal().is_some() => Report::Exited {
            code: None,
            signal: sandbox.bwrap.signal().or(Some(Signal::KILL.as_raw())),
        },
        None => Report::NotConfined { reason: None },
    })
}

/// The groups of a run. The server removes them when it is done with them; but it may be gone by then.
struct Groups {
    /// The directory above each, and its name there.
    names: Vec<(OwnedFd, OsString)>,
    /// What lets those go on who are frozen, and the word for it.
    thaw: Vec<(File, &'static [u8])>,
}

impl Groups {
    fn of(plan: &Plan) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let groups = plan.join.iter().filter_map(|list| {
            let group = list.parent()?;
            let parent = openat(CWD, group.parent()?, flags, Mode::empty()).ok()?;
            Some((parent, group.file_name()?.to_owned()))
        });
        let thaw = plan.join.iter().filter_map(|list| {
            let open = |name| File::options().write(true).open(list.parent()?.join(name)).ok();
            let old = open("freezer.state").map(|file| (file, &b"THAWED"[..]));
            old.or_else(|| open("cgroup.freeze").map(|file| (file, &b"0"[..])))
        });
        Self {
            names: groups.collect(),
            thaw: thaw.collect(),
        }
    }

    /// Lets those go on who are frozen. Where that cannot be done, nobody is.
    fn thaw(&self) {
        for (file, word) in &self.thaw {
            let mut file: &File = file;
            let _ = file.write_all(word);
        }
    }

    fn remove(&self) {
        let deadline = Instant::now() + GRACE;
        for (parent, name) in &self.names {
            while unlinkat(parent, name, AtFlags::REMOVEDIR) == Err(Errno::BUSY) && Instant::now() < deadline
            {
                std::thread::sleep(INTERVAL);
            }
        }
    }
}

/// Waits until the server has read what it wants to know of the groups, or is gone.
fn until_understood(server: &UnixStream) {
    // One that takes longer removes them itself.
    let most = Timespec {
        tv_sec: GRACE.as_secs().try_into().unwrap_or(1),
        tv_nsec: 0,
    };
    let _ = poll(&mut [PollFd::new(server, PollFlags::IN)], Some(&most));
}

impl Drop for Confined {
    /// However this went, nobody stays.
    fn drop(&mut self) {
        // Whoever has ended needs no signal.
        let _ = pidfd_send_signal(&self.first_ended, Signal::KILL);
    }
}

/// A sandbox that was made.
struct Confined {
    /// bubblewrap itself, outside.
    bwrap: Tree,
    bwrap_ended: OwnedFd,
    /// The first process inside; no other outlives it.
    first: Pid,
    first_ended: OwnedFd,
    /// What bubblewrap tells of itself.
    status: BufReader<File>,
}

impl Confined {
    /// Nothing, when bubblewrap has ended at once, having said why.
    fn start(plan: &Plan, descriptors: Descriptors, server: &UnixStream) -> io::Result<Option<Self>> {
        let join = opened(&plan.join)?;
        let leave = opened(&plan.leave)?;
        if !plan.stages.is_empty() {
            let told = |error| with(error, "what the command is to see could not be mounted");
            staging::set_up(&plan.stages, &descriptors.others, &plan.bwrap).map_err(told)?;
        }
        enter(&join)?;
        limit(&plan.rlimits)?;
        let (status, status_end) = io::pipe()?;
        let (block_end, block) = io::pipe()?;
        let child = spawn(plan, descriptors, &status_end.into(), &block_end.into())?;
        enter(&leave)?;
        let bwrap = Tree::of(pid_of(&child)?);
        let bwrap_ended = pidfd_open(bwrap.root(), PidfdFlags::empty())?;
        let mut status = BufReader::new(File::from(OwnedFd::from(status)));
        let mut line = String::new();
        status.read_line(&mut line)?;
        let Some(first) = serde_json::from_str(&line).ok().and_then(Status::child) else {
            return Ok(None);
        };
        let first_ended = pidfd_open(first, PidfdFlags::empty())?;
        rustix::io::ioctl_fionbio(status.get_ref(), true)?;
        let listener = prepared(plan, first)?;
        let number = first.as_raw_nonzero().get();
        Report::Started { pid: number }.send(server, listener.as_ref().map(AsFd::as_fd))?;
        // It waits for this before it starts the command.
        let _ = File::from(OwnedFd::from(block)).write_all(b"g");
        Ok(Some(Self {
            bwrap,
            bwrap_ended,
            first,
            first_ended,
            status,
        }))
    }

    /// Returns when the command has ended, or was ended because nobody wants it any more, and tells which.
    fn watch(&mut self, server: &UnixStream) -> io::Result<bool> {
        while !self.bwrap.root_has_ended() {
            let word = wait(&self.bwrap_ended, server)?;
            self.bwrap.reap();
            match word {
                Word::Look => {}
                Word::Stop if self.bwrap.root_has_ended() => {}
                Word::Stop => {
                    self.ask_to_end();
                    return Ok(true);
                }
                Word::Kill => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Asks everybody inside to end, and waits for a while.
    fn ask_to_end(&mut self) {
        tree::ask_to_end(self.first);
        let deadline = Instant::now() + GRACE;
        while !self.bwrap.root_has_ended() && Instant::now() < deadline {
            std::thread::sleep(INTERVAL);
            self.bwrap.reap();
        }
    }

    /// Whether nobody is left inside but its first process, which is not the command's and ends by itself. To wait for
    /// that would take as long as it takes the kernel to put the sandbox away.
    fn is_empty(&self) -> bool {
        let pid = self.first;
        match std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
            Ok(children) => self.bwrap.root_has_ended() && children.trim().is_empty(),
            Err(_) => has_ended(&self.first_ended),
        }
    }

    /// Ends everybody inside, and returns when nobody is left.
    fn end(&mut self, groups: &Groups) -> io::Result<()> {
        // Whoever has ended needs no signal, and whoever is frozen dies only when thawed.
        let _ = pidfd_send_signal(&self.first_ended, Signal::KILL);
        groups.thaw();
        until_ended(&self.first_ended)?;
        until_ended(&self.bwrap_ended)?;
        self.bwrap.reap();
        Ok(())
    }

    /// What the command has ended with, if it was started and came to its end.
    fn exit_code(&mut self) -> Option<i32> {
        let mut rest = String::new();
        // It does not wait, for whoever else may hold the other end.
        let _ = self.status.read_to_string(&mut rest);
        rest.lines()
            .filter_map(|line| serde_json::from_str::<Status>(line).ok())
            .find_map(|status| status.exit_code)
    }
}

/// What bubblewrap tells of itself, in one line each.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    child_pid: Option<i32>,
    exit_code: Option<i32>,
}

impl Status {
    fn child(self) -> Option<Pid> {
        self.child_pid.and_then(Pid::from_raw)
    }
}

/// Starts bubblewrap with nothing in its environment, since everybody inside can read that, and with its arguments in a
/// file, since everybody outside could read them.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where commands are started"
)]
fn spawn(
    plan: &Plan,
    descriptors: Descriptors,
    status: &OwnedFd,
    block: &OwnedFd,
) -> io::Result<std::process::Child> {
    let mut inherited = Vec::new();
    let mut words = vec!["--json-status-fd".to_owned(), inherit(status)?];
    words.extend(["--block-fd".to_owned(), inherit(block)?]);
    for argument in &plan.arguments {
        words.push(word(argument, &descriptors.others, &mut inherited)?);
    }
    let mut arguments = Vec::new();
    for word in &words {
        if word.contains('\0') {
            return Err(io::Error::other("an argument or variable has a NUL in it"));
        }
        arguments.extend_from_slice(word.as_bytes());
        arguments.push(0);
    }
    let arguments = memory(&arguments)?;
    let mut command = std::process::Command::new(&plan.bwrap);
    command
        .args(["--args", &inherit(&arguments)?, "--"])
        .args(&plan.command)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(descriptors.stdin))
        .stdout(Stdio::from(descriptors.stdout))
        .stderr(Stdio::from(descriptors.stderr))
        .process_group(0);
    if let Some((user, group)) = plan.user {
        // Supplementary groups are given up with it.
        command.uid(user).gid(group);
    }
    let told = |error| with(error, &format!("{} could not be started", plan.bwrap.display()));
    command.spawn().map_err(told)
}

fn word(argument: &Argument, descriptors: &[OwnedFd], inherited: &mut Vec<OwnedFd>) -> io::Result<String> {
    let file = match argument {
        Argument::Word(word) => return Ok(word.clone()),
        Argument::Stage(number) => return text_of(staging::path_of(*number)),
        Argument::PathOf(place) => {
            let descriptor = descriptors.get(*place).ok_or(io::ErrorKind::InvalidData)?;
            return text_of(std::fs::read_link(format!(
                "/proc/self/fd/{}",
                descriptor.as_raw_fd()
            ))?);
        }
        Argument::Text(text) => memory(text.as_bytes())?,
        Argument::Filter => memory(&filter()?)?,
        // One that is gone since it was found is empty.
        Argument::File(path) => File::open(path).or_else(|_| File::open("/dev/null"))?.into(),
    };
    let number = inherit(&file)?;
    inherited.push(file);
    Ok(number)
}

fn text_of(path: PathBuf) -> io::Result<String> {
    let refuse = |path| io::Error::other(format!("the name of {path:?} is not text"));
    path.into_os_string().into_string().map_err(refuse)
}

/// Lets a descriptor be inherited by the program that is started next, which this process does only once.
fn inherit(descriptor: &OwnedFd) -> io::Result<String> {
    fcntl_setfd(descriptor, FdFlags::empty())?;
    Ok(descriptor.as_raw_fd().to_string())
}

fn memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("data", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

fn opened(lists: &[PathBuf]) -> io::Result<Vec<File>> {
    let open = |path: &PathBuf| {
        let opened = File::options().write(true).open(path);
        opened.map_err(|error| with(error, &format!("{} could not be opened", path.display())))
    };
    lists.iter().map(open).collect()
}

/// Moves this process into groups.
fn enter(lists: &[File]) -> io::Result<()> {
    for mut list in lists {
        let told = |error| with(error, "the group that limits the command could not be entered");
        list.write_all(b"0").map_err(told)?;
    }
    Ok(())
}

/// Limits this process, and with it all that it starts. What is lower already stays, since not even every root may raise
/// it again.
fn limit(rlimits: &Rlimits) -> io::Result<()> {
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Fsize, Some(rlimits.file_bytes)),
        (Resource::Nofile, Some(rlimits.open_files.max(FEWEST_FILES))),
        (Resource::Data, rlimits.data_bytes),
        (Resource::Nproc, rlimits.processes.filter(|_| geteuid().is_root())),
    ];
    for (resource, value) in limits {
        let Some(value) = value else {
            continue;
        };
        let least = getrlimit(resource).maximum.map_or(value, |now| now.min(value));
        setrlimit(resource, exactly(least))?;
    }
    Ok(())
}

fn exactly(value: u64) -> Rlimit {
    Rlimit {
        current: Some(value),
        maximum: Some(value),
    }
}

/// What can be done only when the sandbox is there, and must be done before the command starts.
fn prepared(plan: &Plan, first: Pid) -> io::Result<Option<TcpListener>> {
    if let Some(processes) = plan.rlimits.processes.filter(|_| !geteuid().is_root()) {
        // Set any earlier, it would count everything that this user runs outside. Nobody else is the user of sandboxes.
        prlimit(Some(first), Resource::Nproc, exactly(processes))?;
    }
    let Some(port) = plan.listen else {
        return Ok(None);
    };
    let told = |error| with(error, "no socket could be made in the sandbox");
    listen_inside(first, port).map(Some).map_err(told)
}

/// A socket that listens in the network namespace of a process. This process stays there, where it needs nothing.
fn listen_inside(process: Pid, port: u16) -> io::Result<TcpListener> {
    let namespace = |kind: &str| File::open(format!("/proc/{process}/ns/{kind}"));
    let (user, network) = (namespace("user")?, namespace("net")?);
    if !geteuid().is_root() {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    // The loopback interface may not be up yet, and there is no other.
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
}

fn has_ended(process: &OwnedFd) -> bool {
    let now = Timespec::default();
    matches!(
        poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)),
        Ok(1..)
    )
}

fn until_ended(process: &OwnedFd) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None::<&Timespec>) {
            Ok(1..) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn with(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
