//! What a process may do inside: next to nothing, until it mounts.
//!
//! The kernel gives whoever enters every capability over the namespace. All but those that a mount needs are given up
//! for good, and those are in effect only while one is made. None reaches another program: the kernel takes them from
//! whoever is not root inside, and nobody is.

use rustix::io;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// To mount, and to work in the directory that overlayfs keeps for itself, which it makes with mode 0. overlayfs goes
/// on to use what the process had that mounted it.
const MOUNTING: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::DAC_OVERRIDE);

/// Keeps what mounting needs, and puts nothing into effect.
pub(super) fn lay_down() -> io::Result<()> {
    set_capabilities(
        None,
        CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: MOUNTING,
            inheritable: CapabilitySet::empty(),
        },
    )
}

/// Puts what mounting needs into effect, for this thread.
pub(super) fn take_up() -> io::Result<()> {
    let sets = capabilities(None)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: sets.permitted & MOUNTING,
            ..sets
        },
    )
}

/// Does something with what mounting needs in effect. Root has all of it anyway.
pub(crate) fn with_rights<T>(act: impl FnOnce() -> T) -> T {
    let before = capabilities(None).ok();
    let _laid_down = before
        .filter(|before| before.effective != before.permitted && take_up().is_ok())
        .map(LaidDown);
    act()
}

/// Puts back what was in effect, whatever happens.
struct LaidDown(CapabilitySets);

impl Drop for LaidDown {
    fn drop(&mut self) {
        // Rights can always be laid down.
        let _ = set_capabilities(None, self.0);
    }
}
