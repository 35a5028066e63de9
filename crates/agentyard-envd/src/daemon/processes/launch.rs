//! Starting a program.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::io::{Errno, ioctl_fionbio};
use tokio::process::{Child, Command};

use super::input::Inlet;
use super::output::{Kind, Output};
use super::process::{Process, set_size};
use crate::connect::{Code, Fault};
use crate::daemon::environment;
use crate::daemon::routes::Daemon;
use crate::daemon::user::USER;
use crate::process::{Pty, StartRequest};

/// How long a tag may be.
const TAG_BYTES: usize = 256;

/// The kind of terminal that programs find when nobody says what it is.
const TERMINAL: &str = "xterm-256color";

/// A program that runs, though nobody looks after it yet.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) process: Process,
    pub(super) child: Child,
    pub(super) output: Output,
}

/// Starts what is asked for.
pub(super) fn launch(daemon: &Daemon, asked: StartRequest) -> Result<Launched, Fault> {
    check(&asked)?;
    let directory = directory(&daemon.home, asked.process.cwd.as_deref())?;
    let command = command(daemon, &asked, &directory);
    let spawned = match asked.pty {
        Some(pty) => spawn_in_terminal(command, pty),
        None => spawn(command, asked.stdin.unwrap_or(true)),
    };
    let spawned = spawned.map_err(|error| not_started(&asked.process.cmd, &error))?;
    let pid = spawned.child.id().unwrap_or_default();
    Ok(Launched {
        process: Process::new(pid, asked.tag, asked.process, spawned.inlet, spawned.terminal),
        child: spawned.child,
        output: spawned.output,
    })
}

/// A directory as a caller names it: the home directory, or below it, or anywhere.
pub(super) fn directory(home: &Path, named: Option<&str>) -> Result<PathBuf, Fault> {
    let directory = match named.unwrap_or_default() {
        "" | "~" => home.to_owned(),
        named => home.join(named.strip_prefix("~/").unwrap_or(named)),
    };
    if directory.is_dir() {
        return Ok(directory);
    }
    Err(Fault::new(
        Code::InvalidArgument,
        format!(
            "cwd '{}' does not exist or is no directory; make it first",
            directory.display().to_string().escape_debug()
        ),
    ))
}

fn check(asked: &StartRequest) -> Result<(), Fault> {
    let invalid = |message: String| Err(Fault::new(Code::InvalidArgument, message));
    if asked.process.cmd.is_empty() {
        return invalid("no program is named in `process.cmd`".to_owned());
    }
    if asked.tag.as_ref().is_some_and(|tag| tag.len() > TAG_BYTES) {
        return invalid(format!("a tag has at most {TAG_BYTES} bytes"));
    }
    environment::check(&asked.process.envs)
}

fn command(daemon: &Daemon, asked: &StartRequest, directory: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "to start programs is what the daemon is for"
    )]
    let mut command = Command::new(&asked.process.cmd);
    let mut variables = BTreeMap::new();
    if asked.pty.is_some() {
        variables.insert("TERM".to_owned(), TERMINAL.to_owned());
    }
    variables.extend(daemon.environment.variables());
    variables.extend(asked.process.envs.clone());
    command
        .args(&asked.process.args)
        .env("HOME", &daemon.home)
        .env("USER", USER)
        .env("LOGNAME", USER)
        .env("PWD", directory)
        .envs(variables)
        .current_dir(directory);
    command
}

struct Spawned {
    child: Child,
    output: Output,
    inlet: Inlet,
    terminal: Option<OwnedFd>,
}

fn spawn(mut command: Command, has_input: bool) -> io::Result<Spawned> {
    let inlet = if has_input {
        let (read, write) = io::pipe()?;
        command.stdin(read);
        Inlet::stdin(non_blocking(write.into())?)?
    } else {
        command.stdin(Stdio::null());
        Inlet::nowhere()
    };
    let (stdout, said) = io::pipe()?;
    let (stderr, complained) = io::pipe()?;
    let output = Output::of([
        (Kind::Stdout, non_blocking(stdout.into())?),
        (Kind::Stderr, non_blocking(stderr.into())?),
    ])?;
    let child = command.stdout(said).stderr(complained).process_group(0).spawn()?;
    Ok(Spawned {
        child,
        output,
        inlet,
        terminal: None,
    })
}

/// Starts a program in a session of its own, which has a new terminal.
fn spawn_in_terminal(command: Command, pty: Pty) -> io::Result<Spawned> {
    let (ours, theirs) = pty_process::open().map_err(plain)?;
    let copy = || ours.as_fd().try_clone_to_owned();
    // Reading and writing are waited for apart.
    let (read, write, terminal) = (copy()?, copy()?, copy()?);
    set_size(&terminal, pty.size)?;
    let child = pty_process::Command::from(command).spawn(theirs).map_err(plain)?;
    Ok(Spawned {
        child,
        output: Output::of([(Kind::Pty, non_blocking(read)?)])?,
        inlet: Inlet::pty(non_blocking(write)?)?,
        terminal: Some(terminal),
    })
}

fn plain(error: pty_process::Error) -> io::Error {
    match error {
        pty_process::Error::Io(error) => error,
        pty_process::Error::Rustix(error) => error.into(),
        other => io::Error::other(other),
    }
}

fn non_blocking(file: OwnedFd) -> io::Result<OwnedFd> {
    ioctl_fionbio(&file, true)?;
    Ok(file)
}

fn not_started(program: &str, error: &io::Error) -> Fault {
    let program: String = program.chars().take(500).collect();
    let program = program.escape_debug();
    let is_full = matches!(
        Errno::from_io_error(error),
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::NOSPC)
    );
    match error.kind() {
        io::ErrorKind::NotFound => Fault::new(
            Code::NotFound,
            format!(
                "the program `{program}` cannot be started: neither it nor, if it is a script, its interpreter is there; \
                 give its whole path, or put its directory into PATH"
            ),
        ),
        _ if is_full => Fault::new(
            Code::ResourceExhausted,
            format!(
                "the program `{program}` cannot be started, the sandbox is full: {error}; end some processes"
            ),
        ),
        _ => Fault::new(
            Code::InvalidArgument,
            format!("the program `{program}` cannot be started: {error}"),
        ),
    }
}
