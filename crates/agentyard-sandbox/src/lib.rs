//! Commands and long-lived processes in isolation.
//!
//! The crate may start processes other than git, and look at the kernel's and the machine's means of
//! isolation. It reads no environment: what a process is to see of it is handed in. It knows no
//! database, no transport and no caller.
//!
//! It says what this machine can do ([`Machine`]): every answer is an attempt, a namespace that is made, a file system
//! mounted, a group created, each in a child process or taken back at once. It puts a process that does not run as root
//! where it may mount file systems of its own ([`namespace`]). And it runs a [`Command`]: so far on the host alone
//! ([`Host`]), where that is allowed.

#![warn(missing_docs)]

mod command;
mod host;
mod machine;
pub mod namespace;

pub use command::{Command, CommandError, EndCause, Event, Exit, Limits, Stream};
pub use host::{Host, LeaderProgram, Running, lead};
pub use machine::{Finding, Machine, MachineContext, State, Tool};
