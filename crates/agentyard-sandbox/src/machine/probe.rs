//! Starting a program of this machine to see what it does.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Machine;

/// How long a probe may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// How often a probe is looked after.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How much of what a program prints is read.
const MAX_OUTPUT_BYTES: u64 = 16 * 1024;

/// The longest line that is quoted.
const MAX_LINE_CHARACTERS: usize = 200;

/// Why a probe has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error("there is no program `{0}` on the search path")]
    NotFound(String),
    #[error("{} could not be started: {_1}", _0.display())]
    NotStarted(PathBuf, io::Error),
    #[error("{} did not end within {} s and was killed", _0.display(), DEADLINE.as_secs())]
    TimedOut(PathBuf),
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The program that was started.
    pub(crate) program: PathBuf,
    status: ExitStatus,
    output: String,
    complaint: String,
}

impl Outcome {
    /// Whether it ended as a program does that has done what it should.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.success()
    }

    /// What it printed.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// The first line that it printed, or complained with, fit to be shown.
    pub(crate) fn first_line(&self) -> String {
        let printed = self.output.lines().chain(self.complaint.lines());
        let line = printed.map(str::trim).find(|line| !line.is_empty());
        line.map_or_else(|| self.status.to_string(), printable)
    }

    /// The first line of its complaint, fit to be shown.
    pub(crate) fn complaint(&self) -> String {
        let line = self
            .complaint
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        line.map_or_else(|| self.first_line(), printable)
    }
}

fn printable(line: &str) -> String {
    line.chars()
        .take(MAX_LINE_CHARACTERS)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

impl Machine {
    /// Where a program is.
    pub(crate) fn locate(&self, name: &str) -> Option<PathBuf> {
        self.locate_all(name).next()
    }

    /// Everywhere a program of this name is. Directories of the search path that are relative do not count: they
    /// would mean whatever directory we happen to be started in.
    pub(crate) fn locate_all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(&self.context.search_path)
            .filter(|directory| directory.is_absolute())
            .map(move |directory| directory.join(name))
            .filter(|path| is_program(path))
    }

    /// Starts a program that is on the search path, with these arguments, and waits for its end.
    pub(crate) fn probe<A: AsRef<OsStr>>(&self, name: &str, arguments: &[A]) -> Result<Outcome, ProbeError> {
        let program = self
            .locate(name)
            .ok_or_else(|| ProbeError::NotFound(name.to_owned()))?;
        self.probe_at(program, arguments)
    }

    /// As [`Machine::probe`], for a program that was found before.
    pub(crate) fn probe_at<A: AsRef<OsStr>>(
        &self,
        program: PathBuf,
        arguments: &[A],
    ) -> Result<Outcome, ProbeError> {
        match self.run(&program, arguments) {
            Ok(Some((status, output, complaint))) => Ok(Outcome {
                program,
                status,
                output,
                complaint,
            }),
            Ok(None) => Err(ProbeError::TimedOut(program)),
            Err(error) => Err(ProbeError::NotStarted(program, error)),
        }
    }

    /// No shell, an environment of what was handed in, a group of its own that is killed at the
    /// deadline. Output goes to memory rather than through pipes, so that a child of the program
    /// which stays behind cannot make us wait for an end of file.
    fn run<A: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: &[A],
    ) -> io::Result<Option<(ExitStatus, String, String)>> {
        let mut output = File::from(memfd_create("output", MemfdFlags::CLOEXEC)?);
        let mut complaint = File::from(memfd_create("complaint", MemfdFlags::CLOEXEC)?);
        #[expect(clippy::disallowed_methods, reason = "this is where probes are started")]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", &self.context.search_path)
            .env("LC_ALL", "C")
            .envs(self.context.home.iter().map(|path| ("HOME", path)))
            .envs(
                self.context
                    .runtime_directory
                    .iter()
                    .map(|path| ("XDG_RUNTIME_DIR", path)),
            )
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(complaint.try_clone()?)
            .process_group(0);
        let mut child = command.spawn()?;
        let status = wait(&mut child);
        kill_group(&child);
        let Some(status) = status? else {
            child.wait()?;
            return Ok(None);
        };
        Ok(Some((status, text_of(&mut output)?, text_of(&mut complaint)?)))
    }
}

/// Where a program on a search path is. Directories that are relative do not count: they would mean whatever directory
/// we happen to be started in.
pub(crate) fn program_on(search_path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_program(path))
}

/// Waits for a child until the deadline; nothing if it is still running then.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if begun.elapsed() >= DEADLINE => return Ok(None),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Kills the child and whatever it has left behind in its group.
fn kill_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It fails when nobody is left, which is what we want.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
