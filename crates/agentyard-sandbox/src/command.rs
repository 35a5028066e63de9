//! A command, and how it ended: the same for every way to run one.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A program to be run.
#[derive(Debug)]
pub struct Command {
    /// The program: a name that is looked for on the `PATH` of the environment below, or a path.
    pub program: String,
    /// Its arguments. No shell reads them.
    pub arguments: Vec<String>,
    /// The directory in which it starts, which the caller has opened and may use.
    pub directory: OwnedFd,
    /// Its environment: this and nothing else.
    pub environment: Vec<(String, String)>,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// What ends it when it does not end by itself.
    pub limits: Limits,
}

/// What a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub duration: Duration,
    /// How much it may say, in bytes.
    pub output_bytes: u64,
}

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
    /// What looks after the command ended before the command did; what was left of it was killed.
    #[error("the process that looked after `{program}` was ended from outside")]
    Lost {
        /// The program.
        program: String,
    },
}
