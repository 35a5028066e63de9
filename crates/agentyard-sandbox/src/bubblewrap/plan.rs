//! All that a leader needs to know to make a sandbox: decided by the server, done by the leader.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A sandbox, and the command that runs in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The program `bwrap`.
    pub(crate) bwrap: PathBuf,
    /// As whom it runs: user and group. Only root can choose.
    pub(crate) user: Option<(u32, u32)>,
    /// What is mounted for it beforehand, because that user could not reach it. Only root can.
    pub(crate) stages: Vec<Stage>,
    /// What it is told.
    pub(crate) arguments: Vec<Argument>,
    /// The command, with its arguments.
    pub(crate) command: Vec<String>,
    /// Groups to be in while it is started: what lists their members.
    pub(crate) join: Vec<PathBuf>,
    /// Groups to be in afterwards.
    pub(crate) leave: Vec<PathBuf>,
    /// What each process may have.
    pub(crate) rlimits: Rlimits,
    /// Where a socket is to listen inside, through which the server lets the command reach others.
    pub(crate) listen: Option<u16>,
}

/// A directory or file that is mounted where bubblewrap finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub(crate) source: Source,
    pub(crate) owners: Option<ShownOwners>,
}

/// How a mount shows the owners of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShownOwners {
    /// The place of a user namespace among the descriptors, which maps them.
    pub(crate) namespace: usize,
    /// Whether it is of no use otherwise. Not every file system can do this.
    pub(crate) is_needed: bool,
}

/// Something of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// What a descriptor is open for: its place among them.
    Descriptor(usize),
    /// What is at this path.
    Path(String),
}

/// A word on bubblewrap's command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Argument {
    /// Just that.
    Word(String),
    /// Where a stage is.
    Stage(usize),
    /// The path of what a descriptor is open for.
    PathOf(usize),
    /// The number of a descriptor from which this text can be read.
    Text(String),
    /// The number of a descriptor from which this file can be read.
    File(String),
    /// The number of a descriptor from which the filter of system calls can be read.
    Filter,
}

/// What each process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Rlimits {
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    /// Only where no group counts memory.
    pub(crate) data_bytes: Option<u64>,
    /// Only where no group counts processes: of all in the sandbox.
    pub(crate) processes: Option<u64>,
}
