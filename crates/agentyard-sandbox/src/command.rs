//! A command, and how it ended: the same for every way to run one.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A program to be run.
#[derive(Debug)]
pub struct Command {
    /// The program: a name that is looked for on the `PATH` of the environment below, or a path as the program sees it.
    pub program: String,
    /// Its arguments. No shell reads them.
    pub arguments: Vec<String>,
    /// What it sees of this machine beside the system itself. The first is where it works.
    pub mounts: Vec<Mount>,
    /// The directory in which it starts: where one of the mounts is, or below that.
    pub directory: PathBuf,
    /// What of its mounts it does not see, such as `/workspace/.git`. What is not there need not be hidden.
    pub hidden: Vec<PathBuf>,
    /// Its environment: this and nothing else.
    pub environment: Vec<(String, String)>,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// Whom it may talk to.
    pub network: Network,
    /// What ends it when it does not end by itself, and what it cannot have more of.
    pub limits: Limits,
}

/// A directory of this machine that a command sees.
#[derive(Debug)]
pub struct Mount {
    /// The directory, which whoever asks for the command has opened and may use.
    pub source: OwnedFd,
    /// Its path on this machine, for those who run without isolation.
    pub host_path: PathBuf,
    /// Where the command sees it.
    pub at: PathBuf,
    /// What the command may do there.
    pub access: Access,
}

impl Mount {
    /// The same for another command.
    ///
    /// # Errors
    /// When this process has too many files open.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            source: self.source.try_clone()?,
            host_path: self.host_path.clone(),
            at: self.at.clone(),
            access: self.access,
        })
    }
}

/// What a command may do in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look.
    ReadOnly,
    /// Change everything.
    ReadWrite,
}

/// Whom a command may talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, PartialOrd, Ord, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nobody.
    #[default]
    None,
    /// Package registries.
    Registry,
    /// Everybody on the Internet, but neither this machine nor its neighbours.
    Full,
}

impl Network {
    /// Its name in settings, arguments and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Registry => "registry",
            Self::Full => "full",
        }
    }
}

/// What a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub duration: Duration,
    /// How much it may say, in bytes.
    pub output_bytes: u64,
    /// How much memory all its processes may use together.
    pub memory_bytes: u64,
    /// How many processes and threads it may have.
    pub processes: u32,
    /// How much of the processors it may use, in hundredths of one.
    pub cpu_percent: u32,
    /// How much it may write in all.
    pub disk_bytes: u64,
    /// How long one file may be.
    pub file_bytes: u64,
    /// How many files each process may have open.
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(60),
            output_bytes: 64 * MEBIBYTE,
            memory_bytes: 2048 * MEBIBYTE,
            processes: 256,
            cpu_percent: 200,
            disk_bytes: 4096 * MEBIBYTE,
            file_bytes: 2048 * MEBIBYTE,
            open_files: 4096,
        }
    }
}

const MEBIBYTE: u64 = 1024 * 1024;

/// What a running command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It said something.
    Output(Stream, Vec<u8>),
    /// It is over, and so is everything it had started.
    Ended(Exit),
}

/// Where a command says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, when one did.
    pub signal: Option<i32>,
    /// How long it ran.
    pub duration: Duration,
    /// Why it ended.
    pub cause: EndCause,
    /// What it took.
    pub usage: Usage,
}

/// What a command took, as far as the machine can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// The most memory that all its processes used together.
    pub peak_memory_bytes: Option<u64>,
    /// How long processors worked for it.
    pub cpu: Option<Duration>,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// It was done, or was ended by something else than us.
    Itself,
    /// It was told to stop.
    Stopped,
    /// Its time was up.
    Deadline,
    /// It had said all that it may say.
    OutputLimit,
    /// It used more memory than it may.
    MemoryLimit,
    /// It had written more than it may.
    DiskLimit,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be started.
    #[error("`{program}` could not be started")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What looks after the command cannot be started.
    #[error("the process that looks after a command could not be started")]
    Prepare(#[source] io::Error),
    /// This machine cannot isolate the command as it must be.
    #[error("the command was not run: {reason}")]
    Refused {
        /// What is missing.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A sandbox of somebody else's could not be used.
    #[error("{reason}")]
    Remote {
        /// What failed, and why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// What looks after the command ended before the command did; what was left of it was killed.
    #[error("the process that looked after `{program}` was ended from outside")]
    Lost {
        /// The program.
        program: String,
    },
}
