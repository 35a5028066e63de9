//! What podman is told about a container. Nothing here runs anything.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::command::{Access, Command, Limits, Network};
use crate::egress::egress_environment;
use crate::standing::{STANDING_HOME, STANDING_USER};

/// For how much longer than it may run a container is kept by podman itself, should the server be gone.
const AFTERLIFE_SECONDS: u64 = 30;

/// Beside a command's own processes there is one that looks after orphans.
const INIT_PROCESSES: u32 = 1;

/// The most that files in memory may take; they count as memory too.
const MAX_SHARED_BYTES: u64 = 64 * 1024 * 1024;

const PERIOD_MICROSECONDS: u64 = 100_000;

/// The first of the users, on this machine, who stand for those of a container that is set up.
const SET_UP_USERS: u32 = 0x1000_0000;
const SET_UP_USER_COUNT: u32 = 0x1_0000;

/// What package managers need to unpack files for others, within users of their own.
const SET_UP_CAPABILITIES: &[&str] = &[
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_SETGID",
    "CAP_SETUID",
];

/// As whom a command runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Identity {
    /// As this user of this machine; the server is root and nothing inside is.
    User(u32, u32),
    /// As the user who runs the server.
    Own,
    /// As root among users of its own, who are nobody outside: to set up an image.
    SetUp,
    /// As root among the users of whoever runs the server, to set up an image.
    OwnSetUp,
}

/// What there is to know beside the command.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) name: &'a str,
    /// Which server it belongs to.
    pub(super) server: &'a str,
    pub(super) image: &'a str,
    pub(super) image_environment: &'a [(String, String)],
    /// Where podman finds each of the command's mounts.
    pub(super) sources: &'a [PathBuf],
    pub(super) identity: Identity,
    pub(super) seccomp_profile: Option<&'a Path>,
    /// How many processes of one user this machine lets the server give away.
    pub(super) process_ceiling: u64,
    /// Whether it is a sandbox that stays, with a user of its own name and a way out that may open later.
    pub(super) stays: bool,
}

/// The label by which containers of ours are found.
pub(super) const LABEL: &str = "agentyard.server";

/// The body of the request that makes a container.
pub(super) fn specification(command: &Command, around: &Surroundings<'_>) -> Value {
    let sets_up = matches!(around.identity, Identity::SetUp | Identity::OwnSetUp);
    let mut spec = json!({
        "name": around.name,
        "labels": { LABEL: around.server },
        "image": around.image,
        // What the image would run is not run.
        "entrypoint": [],
        "healthconfig": { "Test": ["NONE"] },
        "image_volume_mode": "ignore",
        "command": words(command),
        "work_dir": command.directory,
        "env": environment(command, around),
        "unsetenvall": true,
        "httpproxy": false,
        "stdin": !command.input.is_empty(),
        "terminal": false,
        "hostname": "sandbox",
        "init": true,
        "systemd": "false",
        "read_only_filesystem": !sets_up,
        "no_new_privileges": true,
        "cap_drop": ["all"],
        "netns": { "nsmode": "none" },
        "ipcns": { "nsmode": "private" },
        "pidns": { "nsmode": "private" },
        "utsns": { "nsmode": "private" },
        "mounts": mounts(command, around.sources),
        "mask": command.hidden,
        "shm_size": command.limits.memory_bytes.min(MAX_SHARED_BYTES),
        "log_configuration": { "driver": "none" },
        "resource_limits": resources(&command.limits),
        "r_limits": resource_limits(&command.limits, around.process_ceiling),
        "timeout": command.limits.duration.as_secs().saturating_add(AFTERLIFE_SECONDS),
    });
    if let (Value::Object(spec), Value::Object(own)) = (&mut spec, identity(around.identity)) {
        spec.extend(own);
        if around.stays {
            let entry = format!("{STANDING_USER}:x:$UID:$GID:{STANDING_USER}:{STANDING_HOME}:/bin/bash");
            spec.insert("passwd_entry".to_owned(), json!(entry));
        }
        if let Some(profile) = around.seccomp_profile {
            spec.insert("seccomp_profile_path".to_owned(), json!(profile));
        }
    }
    spec
}

fn words(command: &Command) -> Vec<&str> {
    let program = std::iter::once(command.program.as_str());
    program
        .chain(command.arguments.iter().map(String::as_str))
        .collect()
}

fn identity(identity: Identity) -> Value {
    match identity {
        Identity::User(user, group) => json!({ "user": format!("{user}:{group}") }),
        Identity::Own => json!({ "userns": { "nsmode": "keep-id" } }),
        Identity::OwnSetUp => json!({ "user": "0:0", "cap_add": SET_UP_CAPABILITIES }),
        Identity::SetUp => {
            let users = json!([{
                "container_id": 0,
                "host_id": SET_UP_USERS,
                "size": SET_UP_USER_COUNT,
            }]);
            json!({
                "user": "0:0",
                "userns": { "nsmode": "private" },
                "idmappings": { "UIDMap": users, "GIDMap": users },
                "cap_add": SET_UP_CAPABILITIES,
            })
        }
    }
}

/// The image's own environment, then that of the command.
fn environment(command: &Command, around: &Surroundings<'_>) -> Map<String, Value> {
    let mut environment = Map::new();
    let mut set = |name: &str, value: &str| environment.insert(name.to_owned(), json!(value));
    for (name, value) in around.image_environment {
        set(name, value);
    }
    if command.network != Network::None || around.stays {
        for (name, value) in egress_environment() {
            set(&name, &value);
        }
    }
    if around.stays {
        for name in ["NO_PROXY", "no_proxy"] {
            set(name, "localhost,127.0.0.1,::1");
        }
    }
    for (name, value) in &command.environment {
        match name.as_str() {
            "PATH" => set(name, &search_path(command, around)),
            _ => set(name, value),
        };
    }
    environment
}

/// Where programs are looked for: first in what of the command's own path is in its mounts, then where the image has
/// them. The rest of the command's path is about the host.
pub(super) fn search_path(command: &Command, around: &Surroundings<'_>) -> String {
    let of = |environment: &[(String, String)]| {
        let found = environment.iter().find(|(name, _)| name == "PATH");
        found.map_or_else(String::new, |(_, value)| value.clone())
    };
    let (own, image) = (of(&command.environment), of(around.image_environment));
    let is_mounted = |directory: &&str| {
        let mounts = &mut command.mounts.iter();
        mounts.any(|mount| Path::new(directory).starts_with(&mount.at))
    };
    let mounted: Vec<&str> = own.split(':').filter(is_mounted).collect();
    let rest = if image.is_empty() {
        own.as_str()
    } else {
        image.as_str()
    };
    let directories = mounted
        .iter()
        .copied()
        .chain(rest.split(':').filter(|rest| !mounted.contains(rest)));
    directories.collect::<Vec<_>>().join(":")
}

fn mounts(command: &Command, sources: &[PathBuf]) -> Vec<Value> {
    let limits = &command.limits;
    let size = limits.disk_bytes.min(limits.memory_bytes);
    let is_given = |at: &str| command.mounts.iter().any(|mount| mount.at == Path::new(at));
    let temporary = ["/tmp", "/var/tmp", "/run"]
        .into_iter()
        .filter(|at| !is_given(at));
    let temporary = temporary.map(|at| {
        json!({
            "type": "tmpfs",
            "destination": at,
            "options": ["rw", "nosuid", "nodev", "mode=1777", format!("size={size}")],
        })
    });
    let given = command.mounts.iter().zip(sources).map(|(mount, source)| {
        let access = match mount.access {
            Access::ReadOnly => "ro",
            Access::ReadWrite => "rw",
        };
        json!({
            "type": "bind",
            "source": source,
            "destination": mount.at,
            // What is mounted below on this machine is not shown.
            "options": ["bind", access, "nosuid", "nodev", "rprivate"],
        })
    });
    temporary.chain(given).collect()
}

fn resources(limits: &Limits) -> Value {
    json!({
        // No swap beside it: the limit is for both together.
        "memory": { "limit": limits.memory_bytes, "swap": limits.memory_bytes },
        "pids": { "limit": limits.processes.saturating_add(INIT_PROCESSES) },
        "cpu": {
            "period": PERIOD_MICROSECONDS,
            "quota": u64::from(limits.cpu_percent) * PERIOD_MICROSECONDS / 100,
        },
    })
}

/// The number of processes is said too, since podman would ask for more than the server may give away. It counts all
/// processes of a user, so it is no limit for one command.
fn resource_limits(limits: &Limits, process_ceiling: u64) -> Value {
    let limit = |kind: &str, value: u64| json!({ "type": kind, "soft": value, "hard": value });
    json!([
        limit("core", 0),
        limit("fsize", limits.file_bytes),
        limit("nofile", limits.open_files),
        limit("nproc", process_ceiling),
    ])
}
