//! What this machine can do.

mod bubblewrap;
mod cgroups;
mod finding;
mod freezer;
mod overlayfs;
mod podman;
pub(crate) mod probe;
mod programs;
mod reflink;
mod scratch;
mod toolbox;
mod user_namespaces;

use std::ffi::OsString;
use std::path::PathBuf;

pub use finding::{Finding, State};
pub(crate) use overlayfs::OverlayDirectories;
pub(crate) use probe::program_on;
pub use toolbox::Tool;
pub(crate) use user_namespaces::{SWITCHES, remedy as user_namespaces_remedy};

/// What the probes need from outside.
#[derive(Debug, Clone)]
pub struct MachineContext {
    /// Where programs are looked for: the value of `PATH`.
    pub search_path: OsString,
    /// The home directory that programs see.
    pub home: Option<PathBuf>,
    /// The directory for sockets of this person (`XDG_RUNTIME_DIR`), which podman needs without root.
    pub runtime_directory: Option<PathBuf>,
    /// A directory in which to try file systems: the one where work will be done, since
    /// what works on one file system does not on another.
    pub scratch: PathBuf,
}

/// This machine, as far as isolation is concerned.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(crate) context: MachineContext,
}

impl Machine {
    /// A machine to be examined.
    #[must_use]
    pub fn new(context: MachineContext) -> Self {
        Self { context }
    }

    /// Tries everything that isolation can be made of.
    #[must_use]
    pub fn isolation(&self) -> Vec<Finding> {
        vec![
            self.user_namespaces(),
            self.bubblewrap(),
            self.cgroups(),
            self.overlayfs(),
            self.reflink(),
            self.podman(),
        ]
    }

    /// Looks for the programs that agents work with.
    #[must_use]
    pub fn tools(&self) -> Vec<Finding> {
        vec![
            self.python(),
            self.uv(),
            self.conda_found(),
            self.node(),
            self.kubectl(),
        ]
    }
}
