//! The kernel keeps git inside its repository (Landlock).
//!
//! Settings tell git not to run what a repository names; this makes the kernel refuse it, and also every write
//! outside the repository and every read outside it and the system's own directories. A race that changes the
//! repository's configuration or swaps a directory for a link between a check and its use gains nothing.
//!
//! The rules are laid on a thread that does nothing but start the process, which inherits them: no wrapper
//! program, and tens of microseconds.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
};

/// Where git's libraries, time zones, certificates and devices are. Nothing secret to a process of ours: what is
/// secret there has owners and modes.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/nix", "/proc", "/dev",
];

/// The interface that the rules are written for; an older kernel enforces what it knows of them.
const INTERFACE: ABI = ABI::V5;

/// The oldest that serves: before it, nothing could be moved from one directory to another.
const OLDEST_INTERFACE: ABI = ABI::V2;

/// Enough to start a process.
const STACK: usize = 128 * 1024;

/// How far git is kept inside a repository that is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// It reads and writes nothing but its repository and the system's directories, and starts nothing but itself.
    Whole,
    /// It writes nothing outside its repository. git is installed in a way that does not allow more.
    Writes,
    /// This kernel has no Landlock, or too old a one.
    Unavailable,
}

/// What the rules need to know about the installed git.
#[derive(Debug)]
pub(super) struct Installation {
    readable: Vec<OwnedFd>,
    executable: Vec<OwnedFd>,
    /// The shell, for the calls that cannot do without.
    shell: Vec<OwnedFd>,
    devices: Vec<OwnedFd>,
    enforcement: Enforcement,
}

/// The rules for one process.
pub(super) struct Confinement<'a> {
    installation: &'a Installation,
    access: Reachable<'a>,
}

/// What a process may reach beside the system's directories.
#[derive(Debug, Clone, Default)]
pub(super) struct Reachable<'a> {
    /// Directories in which it may read and write.
    pub(super) writable: Vec<BorrowedFd<'a>>,
    /// Directories in which it may read.
    pub(super) readable: Vec<BorrowedFd<'a>>,
    /// Whether it may start the shell, with which git starts the other side of a repository on this machine. What
    /// that may run is confined as git itself is: git, and nothing else.
    pub(super) shell: bool,
}

impl Installation {
    /// Looks at the installed git, and tries whether it starts under the rules. `None` without Landlock.
    pub(super) fn probe(program: &Path) -> Option<Self> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST_INTERFACE))
            .ok()?;
        let open = |paths: &mut dyn Iterator<Item = PathBuf>| -> Vec<OwnedFd> {
            paths
                .filter_map(|path| PathFd::new(path).ok())
                .filter_map(|descriptor| descriptor.as_fd().try_clone_to_owned().ok())
                .collect()
        };
        let real = std::fs::canonicalize(program).ok()?;
        let exec_path = exec_path(&real)?;
        let parts = [real.clone(), exec_path.clone()];
        let interpreter = interpreter(&real);
        let mut installation = Self {
            readable: open(
                &mut SYSTEM_DIRECTORIES
                    .iter()
                    .map(PathBuf::from)
                    .chain(parts.clone())
                    .chain(interpreter.clone()),
            ),
            executable: open(&mut parts.into_iter().chain(interpreter)),
            shell: open(&mut std::fs::canonicalize("/bin/sh").into_iter()),
            devices: open(&mut ["/dev/null", "/dev/tty", "/dev/zero"].iter().map(PathBuf::from)),
            enforcement: Enforcement::Whole,
        };
        for enforcement in [Enforcement::Whole, Enforcement::Writes] {
            installation.enforcement = enforcement;
            if installation.starts(&real, &exec_path) {
                return Some(installation);
            }
        }
        None
    }

    pub(super) fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    pub(super) fn confine<'a>(&'a self, access: Reachable<'a>) -> Option<Confinement<'a>> {
        (self.enforcement != Enforcement::Unavailable).then_some(Confinement {
            installation: self,
            access,
        })
    }

    /// Whether git, and git started by git, run under the rules.
    fn starts(&self, program: &Path, exec_path: &Path) -> bool {
        let confinement = Confinement {
            installation: self,
            access: Reachable::default(),
        };
        let mut command = bare(program);
        command.arg("--exec-path").arg(exec_path).arg("version");
        command.args(["--build-options"]);
        confinement
            .spawn(&mut command)
            .and_then(|mut child| child.wait())
            .is_ok_and(|status| status.success())
    }
}

impl Confinement<'_> {
    /// Starts a process under the rules.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        // Rules hold for a thread and what it starts, for good: so the thread is a new one.
        std::thread::scope(|scope| {
            let starting = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || {
                    self.restrict_this_thread().map_err(io::Error::other)?;
                    command.spawn()
                })?;
            starting
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that starts git panicked")))
        })
    }

    fn restrict_this_thread(&self) -> Result<(), RulesetError> {
        let write = AccessFs::from_write(INTERFACE);
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let execute: BitFlags<AccessFs> = AccessFs::Execute.into();
        let handled = match self.installation.enforcement {
            Enforcement::Whole => write | read | execute,
            Enforcement::Writes | Enforcement::Unavailable => write,
        };
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(handled)?
            .create()?;
        for directory in &self.access.writable {
            rules = rules.add_rule(PathBeneath::new(directory, (write | read) & handled))?;
        }
        for device in &self.installation.devices {
            let access = AccessFs::WriteFile | AccessFs::ReadFile | AccessFs::Truncate;
            rules = rules.add_rule(PathBeneath::new(device, access & handled))?;
        }
        if self.installation.enforcement == Enforcement::Whole {
            for directory in &self.installation.readable {
                rules = rules.add_rule(PathBeneath::new(directory, read))?;
            }
            for directory in &self.access.readable {
                rules = rules.add_rule(PathBeneath::new(directory, read))?;
            }
            let shell = self.installation.shell.iter().filter(|_| self.access.shell);
            for program in self.installation.executable.iter().chain(shell) {
                rules = rules.add_rule(PathBeneath::new(program, execute | AccessFs::ReadFile))?;
            }
        }
        rules.restrict_self().map(drop)
    }
}

/// Where git keeps the programs that it starts for itself.
fn exec_path(program: &Path) -> Option<PathBuf> {
    let output = bare(program).arg("--exec-path").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let path = PathBuf::from(text.trim_end());
    path.is_absolute().then_some(path)
}

/// The program without arguments, in an empty environment.
#[expect(clippy::disallowed_methods, reason = "this crate is where git is started")]
fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The dynamic loader that a program names. The kernel executes it too.
fn interpreter(program: &Path) -> Option<PathBuf> {
    const PROGRAM_HEADER_INTERPRETER: u32 = 3;
    let file = File::open(program).ok()?;
    let mut header = [0_u8; 64];
    (&file).read_exact(&mut header).ok()?;
    // 64 bits, little endian; elsewhere git is held to writes only.
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let (offset, size, count) = (
        number(&header[32..40]),
        number(&header[54..56]),
        number(&header[56..58]),
    );
    for index in 0..count {
        let mut entry = [0_u8; 56];
        file.read_exact_at(&mut entry, offset + index * size).ok()?;
        if number(&entry[..4]) == u64::from(PROGRAM_HEADER_INTERPRETER) {
            let length = usize::try_from(number(&entry[32..40])).ok()?.min(4096);
            let mut path = vec![0; length];
            file.read_exact_at(&mut path, number(&entry[8..16])).ok()?;
            let text = String::from_utf8(path).ok()?;
            return std::fs::canonicalize(text.trim_end_matches('\0')).ok();
        }
    }
    None
}
