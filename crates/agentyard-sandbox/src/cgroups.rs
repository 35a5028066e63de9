//! Control groups: how the kernel limits and counts what a command takes, as a whole.
//!
//! Each run has groups of its own, below those in which the server is. Their names tell whose they are, so that those of
//! a server that is gone are found and removed.

mod group;
mod layout;
mod leftovers;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command::Limits;
pub(crate) use group::Group;
use layout::Layout;

/// The control groups that this process may make.
#[derive(Debug)]
pub(crate) struct Cgroups {
    layout: Layout,
    made: AtomicU64,
}

impl Cgroups {
    /// Those of this machine, tried once; or why there are none.
    pub(crate) fn of_this_machine() -> Result<&'static Self, &'static str> {
        static FOUND: OnceLock<Result<Cgroups, String>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            let layout = Layout::find()?;
            leftovers::remove(&layout.parents());
            let groups = Self {
                layout,
                made: AtomicU64::new(0),
            };
            // Made and limited once, to see that it works.
            let attempt = groups.make(&Limits::default());
            attempt
                .map(drop)
                .map_err(|error| format!("no group could be made: {error}"))?;
            Ok(groups)
        });
        found.as_ref().map_err(String::as_str)
    }

    /// How they are laid out: `cgroup v1`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.layout {
            Layout::Version1 { .. } => "cgroup v1",
            Layout::Version2 { .. } => "cgroup v2",
        }
    }

    /// Whether processors are shared out too.
    pub(crate) fn limits_cpu(&self) -> bool {
        self.layout.limits_cpu()
    }

    /// Makes groups with these limits.
    pub(crate) fn make(&self, limits: &Limits) -> io::Result<Group> {
        let name = leftovers::name(self.made.fetch_add(1, Ordering::Relaxed));
        let group = Group::new(&self.layout, &name);
        for directory in group.directories() {
            fs::create_dir(directory)?;
        }
        group.limit(limits)?;
        Ok(group)
    }

    /// What a process writes to, to be where this one is.
    pub(crate) fn own_member_lists(&self) -> Vec<PathBuf> {
        self.layout.own_member_lists()
    }
}
