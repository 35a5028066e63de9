//! Commands and long-lived processes in isolation.
//!
//! The crate may start processes other than git, and look at the kernel's and the machine's means of
//! isolation. It reads no environment: what a process is to see of it is handed in. It knows no
//! database, no transport and no caller.
//!
//! So far it says what this machine can do ([`Machine`]). Every answer is an attempt: a namespace
//! is made, a file system mounted, a group created, each in a child process or taken back at once. And it puts a process
//! that does not run as root where it may mount file systems of its own ([`namespace`]).

#![warn(missing_docs)]

mod machine;
pub mod namespace;

pub use machine::{Finding, Machine, MachineContext, State, Tool};
