//! Whether the namespace can be had here: tried by a process that is given up for it.
//!
//! Some kernels let a namespace be made and then everything in it be refused (AppArmor on Ubuntu), and there is no way
//! back out. So another process goes first. What it found is noted, and stands as long as nothing changes of what it
//! depends on.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::UnshareFlags;

use super::members::Members;
use super::{capabilities, make};
use crate::machine::{OverlayDirectories, SWITCHES};

/// How long the other process may take.
const DEADLINE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// How long it stands that something does not work: what was in the way may be gone.
const FAILURE_STANDS: Duration = Duration::from_secs(60 * 60);

/// What the other process says when all has worked.
const WORKS: &str = "works";

const MAX_ANSWER_BYTES: u64 = 1024;

/// How to start the process that goes first: this program, which then calls [`try_in`].
#[derive(Debug, Clone)]
pub struct Trial {
    /// The program.
    pub program: PathBuf,
    /// Its first argument; the second will be the directory.
    pub argument: &'static str,
}

impl Trial {
    /// Tries to mount a view below a directory, as this user. Root does so in a mount namespace alone.
    pub fn run(&self, directory: &Path) -> Result<(), String> {
        let overlay = OverlayDirectories::new(directory)
            .map_err(|error| format!("{} cannot be written: {error}", directory.display()))?;
        #[expect(clippy::disallowed_methods, reason = "it is this program itself")]
        let mut command = Command::new(&self.program);
        command
            .arg(self.argument)
            .arg(overlay.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let not_started =
            |error: io::Error| format!("{} could not be started: {error}", self.program.display());
        let mut child = command.spawn().map_err(not_started)?;
        let answer = child.stdout.take().map(answer_of).unwrap_or_default();
        // It has answered, or is not waited for any longer.
        let _ = child.kill();
        child.wait().map_err(not_started)?;
        match answer.as_str() {
            WORKS => Ok(()),
            "" => Err("trying to mount a view gave no answer".to_owned()),
            reason => Err(reason.to_owned()),
        }
    }

    /// The same, unless it is known.
    pub(super) fn must_have_worked(
        &self,
        members: &mut Members,
        data_directory: &Path,
    ) -> Result<(), String> {
        let conditions = conditions(data_directory);
        let noted = members.note().unwrap_or_default();
        if let Some((of_then, verdict)) = noted.trim_end().split_once('\n')
            && of_then == conditions
        {
            let is_fresh = members.noted_at().is_some_and(is_fresh);
            match verdict {
                WORKS => return Ok(()),
                reason if is_fresh => return Err(reason.to_owned()),
                _ => {}
            }
        }
        let verdict = self.run(&data_directory.join("locks"));
        let text = verdict.as_ref().map_or_else(String::as_str, |()| WORKS);
        // Without a note the next process tries again.
        let _ = members.write_note(&format!("{conditions}\n{text}\n"));
        verdict
    }
}

/// Makes the namespaces, mounts a view over the directories that are in this one, changes something in it, and says
/// what came of it. The process is of no other use after this.
pub fn try_in(directory: &OsStr, mut answer: impl io::Write) -> io::Result<()> {
    match attempt(Path::new(directory)) {
        Ok(()) => writeln!(answer, "{WORKS}"),
        Err(reason) => writeln!(answer, "{}", reason.replace('\n', " ")),
    }
}

fn attempt(directory: &Path) -> Result<(), String> {
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        make::unshare(UnshareFlags::NEWNS)
            .and_then(|()| mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC))
            .map_err(|error| format!("a mount namespace could not be made: {error}"))?;
    } else {
        make::make()?;
        capabilities::lay_down()
            .and_then(|()| capabilities::take_up())
            .map_err(|error| format!("rights to mount could not be had: {error}"))?;
    }
    let data = OverlayDirectories::mount_options(directory, if is_root { "" } else { "userxattr," });
    let view = directory.join("merged");
    let data = CString::new(data).map_err(|error| error.to_string())?;
    mount("overlay", &view, "overlay", MountFlags::empty(), data.as_c_str()).map_err(|error| {
        format!(
            "overlayfs could not be mounted in {}: {error}",
            directory.display()
        )
    })?;
    let changed =
        change(&view).map_err(|error| format!("overlayfs was mounted and could not be changed: {error}"));
    // It would end with this process.
    let _ = unmount(&view, UnmountFlags::DETACH);
    changed
}

/// A file below is written to and another removed: either needs more of the file system than a mount does.
fn change(view: &Path) -> io::Result<()> {
    fs::OpenOptions::new()
        .append(true)
        .open(view.join("changed"))?
        .write_all(b"changed")?;
    fs::remove_file(view.join("removed"))
}

/// What the other process says, if it does so in time.
fn answer_of(mut output: ChildStdout) -> String {
    let ready = poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&DEADLINE));
    let mut answer = String::new();
    if matches!(ready, Ok(1..)) {
        // What is no text is no answer.
        let _ = (&mut output).take(MAX_ANSWER_BYTES).read_to_string(&mut answer);
    }
    answer.trim().to_owned()
}

fn is_fresh(noted_at: SystemTime) -> bool {
    noted_at.elapsed().is_ok_and(|age| age < FAILURE_STANDS)
}

/// What the answer depends on, on one line.
fn conditions(data_directory: &Path) -> String {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut parts = vec![
        env!("CARGO_PKG_VERSION").to_owned(),
        file("/proc/sys/kernel/random/boot_id"),
        fs::metadata(data_directory).map_or_else(|_| String::new(), |directory| directory.dev().to_string()),
        file("/proc/self/attr/current"),
    ];
    for (name, _, _) in SWITCHES {
        parts.push(file(&format!("/proc/sys/{}", name.replace('.', "/"))));
    }
    parts.join(" ").replace(['\n', '\0'], " ")
}
