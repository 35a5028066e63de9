//! Whether the walls of a sandbox stand: tried from inside, once.

use std::collections::HashMap;
use std::time::Duration;

use crate::cgroups::Cgroups;
use crate::command::{Command, CommandError, Event, Exit, Limits, Network, Stream};
use crate::leader::Led;
use crate::sandbox::{Enforcement, Weakness};

/// What tries the walls.
const SCRIPT: &str = include_str!("proof.sh");

/// What it says last.
const END: &str = "end";

/// What is granted to it.
const LIMITS: Limits = Limits {
    duration: Duration::from_secs(20),
    output_bytes: 64 * 1024,
    memory_bytes: 64 * 1024 * 1024,
    processes: 32,
    cpu_percent: 100,
    disk_bytes: 1024 * 1024,
    file_bytes: 1024 * 1024,
    open_files: 64,
};

/// What to do about a wall that does not stand.
const REMEDY: &str = "look for what is unusual about this machine's kernel, its bubblewrap or the container that this \
                      runs in; `sandbox.allow_weaker` runs commands even so";

/// A command that tries the walls.
pub(super) fn attempt() -> Command {
    Command {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), SCRIPT.to_owned()],
        mounts: Vec::new(),
        directory: "/".into(),
        hidden: Vec::new(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin:/usr/sbin:/sbin".to_owned())],
        input: Vec::new(),
        network: Network::None,
        limits: LIMITS,
    }
}

/// Waits for the end of the attempt, and judges what came of it.
pub(super) async fn judged(mut attempt: Led, identity: (u32, u32)) -> Result<Enforcement, CommandError> {
    let (mut said, mut complaint) = (Vec::new(), Vec::new());
    let exit = loop {
        match attempt.next_event().await? {
            Event::Output(Stream::Stdout, bytes) => said.extend(bytes),
            Event::Output(Stream::Stderr, bytes) => complaint.extend(bytes),
            Event::Ended(exit) => break exit,
        }
    };
    let said = String::from_utf8_lossy(&said);
    let found = findings(&said);
    if !found.contains_key(END) {
        let complaint = String::from_utf8_lossy(&complaint);
        return Err(CommandError::Refused {
            reason: format!(
                "the walls of a sandbox could not be tried to the end: {:?}, {:?}, {:?} {}",
                exit.cause,
                exit.code,
                exit.signal,
                complaint.trim()
            ),
            remedy: "try again; if it stays so, run `agentyard doctor`".to_owned(),
        });
    }
    let mut enforcement = walls(&found, identity);
    limits(&mut enforcement, exit);
    Ok(enforcement)
}

fn findings(said: &str) -> HashMap<&str, &str> {
    said.lines().filter_map(|line| line.split_once('=')).collect()
}

/// What must have been found for each wall to stand.
fn walls(found: &HashMap<&str, &str>, (user, group): (u32, u32)) -> Enforcement {
    let everywhere = |number: u32| format!("{number} {number} {number} {number}");
    let (user, group) = (everywhere(user), everywhere(group));
    let nothing = "0000000000000000";
    let expected: &[(&str, &[(&str, &str)])] = &[
        ("user: not root", &[("Uid", &user), ("Gid", &group)]),
        (
            "capabilities: none",
            &[
                ("CapInh", nothing),
                ("CapPrm", nothing),
                ("CapEff", nothing),
                ("CapBnd", nothing),
                ("CapAmb", nothing),
            ],
        ),
        ("privileges: no new ones", &[("NoNewPrivs", "1")]),
        ("system calls: filtered by seccomp", &[("Seccomp", "2")]),
        ("network: nobody but itself", &[("interfaces", "lo")]),
        // The first process, and the shell.
        ("processes: its own only", &[("processes", "2")]),
        // The three that it was given, and the directory that it lists.
        ("open files: its own only", &[("descriptors", "4")]),
        (
            "files: the system read-only",
            &[
                ("write_system", "refused"),
                ("write_root", "refused"),
                ("write_settings", "refused"),
                ("write_devices", "refused"),
            ],
        ),
        (
            "files: nobody's home, no passwords",
            &[("homes", "/home/agent"), ("read_shadow", "refused")],
        ),
        ("kernel settings: read-only", &[("write_kernel", "refused")]),
        (
            "namespaces and mounts: no new ones",
            &[("namespace", "refused"), ("mount", "refused")],
        ),
        ("terminal: none", &[("terminal", "refused")]),
        ("environment: only what was given", &[("environment", "")]),
        ("core files: none", &[("core", "0")]),
        ("open files: limited", &[("files", "64")]),
    ];
    let mut enforcement = Enforcement::default();
    for (wall, conditions) in expected {
        let broken = conditions
            .iter()
            .find(|(name, value)| found.get(name) != Some(value));
        match broken {
            None => enforcement.holds.push((*wall).to_owned()),
            Some((name, value)) => {
                let seen = found.get(name).copied().unwrap_or("nothing");
                enforcement.breaches.push(Weakness {
                    what: (*wall).to_owned(),
                    reason: format!("inside a sandbox `{name}` is `{seen}` and not `{value}`"),
                    remedy: REMEDY.to_owned(),
                });
            }
        }
    }
    enforcement
}

/// How limits are kept. Where no groups can be made, they are kept less well, as on a machine of one person's own.
fn limits(enforcement: &mut Enforcement, exit: Exit) {
    let holds = &mut enforcement.holds;
    holds.push("time, output, disk: watched".to_owned());
    holds.push("file size, open files: rlimits".to_owned());
    let remedy = "run as a systemd service with Delegate=yes, or as root";
    let weaker = |what: &str, reason: String| Weakness {
        what: what.to_owned(),
        reason,
        remedy: remedy.to_owned(),
    };
    match Cgroups::of_this_machine() {
        Ok(groups) if exit.usage.peak_memory_bytes.is_some_and(|bytes| bytes > 0) => {
            let kind = groups.kind();
            holds.push(format!("memory, processes: {kind}"));
            if groups.limits_cpu() {
                holds.push(format!("processors: {kind}"));
            } else {
                let reason = format!("{kind} does not share them out here");
                enforcement.weaker.push(weaker("processors: not limited", reason));
            }
        }
        Ok(groups) => enforcement.breaches.push(weaker(
            "memory, processes: not counted",
            format!("{} counted nothing for a command that was in it", groups.kind()),
        )),
        Err(reason) => {
            holds.push("processes: rlimits".to_owned());
            enforcement.weaker.push(weaker(
                "memory: watched, and limited for each process only",
                reason.to_owned(),
            ));
            enforcement
                .weaker
                .push(weaker("processors: not limited", reason.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Uid=7 7 7 7\nGid=8 8 8 8\nCapInh=0000000000000000\nCapPrm=0000000000000000\n\
                        CapEff=0000000000000000\nCapBnd=0000000000000000\nCapAmb=0000000000000000\nNoNewPrivs=1\n\
                        Seccomp=2\ninterfaces=lo\nprocesses=2\ndescriptors=4\nhomes=/home/agent\nenvironment=\n\
                        write_system=refused\nwrite_root=refused\nwrite_settings=refused\nwrite_kernel=refused\n\
                        write_devices=refused\nread_shadow=refused\nterminal=refused\nnamespace=refused\n\
                        mount=refused\ncore=0\nfiles=64\nend=\n";

    #[test]
    fn walls_that_stand_hold() {
        assert_eq!(walls(&findings(SAID), (7, 8)).breaches, []);
    }

    #[test]
    fn every_finding_matters() {
        for line in SAID.lines().filter(|line| *line != "end=") {
            let (name, _) = line.split_once('=').unwrap();
            let without = SAID.replace(&format!("{line}\n"), "");
            assert_eq!(walls(&findings(&without), (7, 8)).breaches.len(), 1, "{name}");
            let broken = SAID.replace(&format!("{line}\n"), &format!("{name}=done\n"));
            assert_eq!(walls(&findings(&broken), (7, 8)).breaches.len(), 1, "{name}");
        }
        assert_eq!(walls(&findings(SAID), (0, 8)).breaches.len(), 1);
    }
}
