//! User namespaces: a process that is root inside and nobody outside.

use std::fs;

use super::Machine;
use super::finding::Finding;
use super::probe::ProbeError;
use super::programs::failure;

/// Kernel settings that forbid user namespaces, the value with which they do, and the one with which they do not.
pub(crate) const SWITCHES: &[(&str, &str, &str)] = &[
    ("user.max_user_namespaces", "0", "15000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
];

impl Machine {
    /// Makes a user namespace, in a child.
    pub(crate) fn user_namespaces(&self) -> Finding {
        const WHAT: &str = "user namespaces";
        match self.probe("unshare", &["--user", "--map-root-user", "--", "true"]) {
            Ok(outcome) if outcome.succeeded() => Finding::ok(WHAT, format!("one was made {}", as_whom())),
            Ok(outcome) => Finding::missing(WHAT, format!("{} ({})", failure(&outcome), as_whom()), remedy()),
            Err(error @ ProbeError::NotFound(_)) => Finding::limited(
                WHAT,
                format!("not tried: {error}"),
                "install util-linux, whose `unshare` makes namespaces, and run `agentyard doctor` again",
            ),
            Err(error) => Finding::missing(WHAT, error.to_string(), remedy()),
        }
    }
}

/// As whom the probes run: what root may do, others often may not.
pub(crate) fn as_whom() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "as root"
    } else {
        "without root"
    }
}

/// What to do about it, by what forbids it as far as the kernel tells.
pub(crate) fn remedy() -> String {
    let forbidding = SWITCHES.iter().find(|(name, forbids, _)| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        fs::read_to_string(path).is_ok_and(|value| value.trim() == *forbids)
    });
    match forbidding {
        Some((name, _, allows)) => format!("run `sysctl -w {name}={allows}`, and keep it in /etc/sysctl.d"),
        None => "in a container, start it so that it may make user namespaces (with podman or docker: \
                 --security-opt seccomp=unconfined); elsewhere, use a kernel with CONFIG_USER_NS"
            .to_owned(),
    }
}
