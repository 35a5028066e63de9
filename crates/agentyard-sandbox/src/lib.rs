//! Commands and long-lived processes in isolation.
//!
//! The crate may start processes other than git, and look at the kernel's and the machine's means of
//! isolation. It reads no environment: what a process is to see of it is handed in. It knows no
//! database, no transport and no caller.
//!
//! It says what this machine can do ([`Machine`]): every answer is an attempt, a namespace that is made, a file system
//! mounted, a group created, each in a child process or taken back at once. It puts a process that does not run as root
//! where it may mount file systems of its own ([`namespace`]). And it runs a [`Command`] in a [`Sandbox`], of which there
//! are several; one of them is no sandbox at all ([`Host`]) and used only where that is allowed. Some sandboxes stay
//! ([`Standing`]), and what these keep on disk lies on [`Grounds`], where they are forked without being copied.

#![warn(missing_docs)]

mod bubblewrap;
mod cgroups;
mod command;
mod e2b;
mod egress;
mod grounds;
mod host;
mod interpreter;
mod leader;
mod machine;
pub mod namespace;
mod podman;
mod python;
mod sandbox;
mod standing;
mod watch;

pub use bubblewrap::{Bubblewrap, BubblewrapSettings, DaemonProgram, SANDBOX_USER};
pub use command::{
    Access, Command, CommandError, EndCause, Event, Exit, Limits, Mount, Network, Stream, Usage,
};
pub use e2b::{E2b, E2bSettings, InvalidE2b, PoolSettings};
pub use egress::{
    Addresses, Denied, EGRESS_PORT, Egress, EgressBounds, EgressSettings, InvalidEgress, Serving,
    egress_environment,
};
pub use grounds::{CopyWay, Grounds, GroundsError, GroundsSize};
pub use host::Host;
pub use interpreter::{
    Code, ColdCall, Frame, Interpreted, Interpreters, NotWarm, Outcome, Raised, Report, Script,
};
pub use leader::{LeaderProgram, lead};
pub use machine::{Finding, Machine, MachineContext, State, Tool};
pub use podman::{IMAGE_REGISTRIES, ImageName, InvalidImage, Podman, PodmanSettings, choose_image};
pub use python::{
    Conda, Distribution, Interpreter, InvalidPythonVersion, PythonVersion, distributions, has_interpreter,
    made_with, normalized_name,
};
pub use sandbox::{Awaited, Backend, Enforcement, Running, Sandbox, Weakness};
pub use standing::{Load, Reach, STANDING_HOME, STANDING_USER, Site, Standing};
