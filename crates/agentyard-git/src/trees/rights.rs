//! The right to mount, taken up only while it is used.
//!
//! In a user namespace a process keeps that right without it being in effect (see `agentyard_sandbox::namespace`), so
//! that it is held to the modes of files like everybody else. Rights belong to threads; root has all of them anyway.

use rustix::thread::{CapabilitySets, capabilities, set_capabilities};

/// Does something with all the rights that this thread may have.
pub(super) fn with_rights<T>(act: impl FnOnce() -> T) -> T {
    let _taken_up = TakenUp::now();
    act()
}

/// Lays them down again, whatever happens.
struct TakenUp {
    before: CapabilitySets,
}

impl TakenUp {
    /// `None` where there is nothing to take up. What needs the right then says so itself.
    fn now() -> Option<Self> {
        let before = capabilities(None).ok()?;
        if before.effective == before.permitted {
            return None;
        }
        let all = CapabilitySets {
            effective: before.permitted,
            ..before
        };
        set_capabilities(None, all).ok()?;
        Some(Self { before })
    }
}

impl Drop for TakenUp {
    fn drop(&mut self) {
        // Rights can always be laid down.
        let _ = set_capabilities(None, self.before);
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::CapabilitySet;

    use super::*;

    #[test]
    fn rights_are_in_effect_only_meanwhile() {
        // A thread of its own: its rights go with it.
        let seen = std::thread::spawn(|| {
            let before = capabilities(None).unwrap();
            let laid_down = CapabilitySets {
                effective: CapabilitySet::empty(),
                ..before
            };
            set_capabilities(None, laid_down).unwrap();
            let meanwhile = with_rights(|| capabilities(None).unwrap().effective);
            assert_eq!(meanwhile, before.permitted);
            let panicked = std::panic::catch_unwind(|| with_rights(|| panic!("on purpose")));
            assert!(panicked.is_err());
            capabilities(None).unwrap().effective
        });
        assert_eq!(seen.join().unwrap(), CapabilitySet::empty());
    }
}
