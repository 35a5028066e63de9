//! podman: sandboxes with an image of their own.

use super::Machine;
use super::finding::Finding;
use super::programs::{failure, seen};

/// What starts a container in the end; one of them is enough.
const RUNTIMES: &[&str] = &["crun", "runc"];

/// What gives a container of an ordinary user its users.
const USER_MAPPERS: &[&str] = &["newuidmap", "newgidmap"];

impl Machine {
    /// Looks for podman and the programs that it starts. It is asked for nothing but its version: even
    /// `podman info` leaves a mount behind as root and a process without, and a doctor leaves nothing behind.
    pub(crate) fn podman(&self) -> Finding {
        const WHAT: &str = "podman";
        let version = match self.probe(WHAT, &["--version"]) {
            Ok(outcome) if outcome.succeeded() => outcome,
            other => {
                let detail = other.map_or_else(|error| error.to_string(), |outcome| failure(&outcome));
                return Finding::missing(
                    WHAT,
                    detail,
                    "install podman for sandboxes with an image of their own",
                );
            }
        };
        let absent = self.absent_companions();
        if absent.is_empty() {
            return Finding::ok(WHAT, format!("{}; no container was started", seen(&version)));
        }
        let absent = absent.join(", ");
        Finding::limited(
            WHAT,
            format!("{}, but without {absent}", seen(&version)),
            format!("install {absent} (on Debian: conmon, crun, uidmap), and run `podman info`"),
        )
    }

    /// What podman needs and cannot find.
    fn absent_companions(&self) -> Vec<&'static str> {
        let is_absent = |name: &&'static str| self.locate(name).is_none();
        let mappers = if rustix::process::geteuid().is_root() {
            &[]
        } else {
            USER_MAPPERS
        };
        let needed = ["conmon"].iter().chain(mappers).copied();
        let no_runtime = RUNTIMES.iter().all(is_absent).then_some("crun or runc");
        needed.filter(is_absent).chain(no_runtime).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::MachineContext;

    use super::*;

    #[test]
    fn a_machine_without_programs_has_no_companions() {
        let machine = Machine::new(MachineContext {
            search_path: "/nowhere".into(),
            home: None,
            runtime_directory: None,
            scratch: "/nowhere".into(),
        });
        let absent = machine.absent_companions();
        assert!(
            absent.starts_with(&["conmon"]) && absent.ends_with(&["crun or runc"]),
            "{absent:?}"
        );
    }
}
