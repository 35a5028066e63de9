//! From a command to what bubblewrap is told: decided here, done by the leader. Nothing here looks at the machine.

use std::path::{Path, PathBuf};

use super::plan::{Argument, Plan, Rlimits, ShownOwners, Source, Stage};
use super::system::Shown;
use crate::command::{Access, Command, CommandError, Limits};
use crate::egress::{EGRESS_PORT, egress_environment};
use crate::standing::{STANDING_HOME, STANDING_USER};

/// Where the home directory is.
pub(crate) const HOME: &str = "/home/agent";

/// How much fits into the directories for sockets and the like.
const RUN_BYTES: u64 = 16 * 1024 * 1024;

/// What was found out about the machine and about the command's directories.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) bwrap: &'a Path,
    pub(crate) shown: &'a [Shown],
    /// As whom the command runs: user and group.
    pub(crate) identity: (u32, u32),
    /// Whether root prepares the sandbox, and so may mount what that user cannot reach.
    pub(crate) is_root: bool,
    /// For each of the command's mounts, the place of a user namespace among the descriptors that shows its files as
    /// the command's own.
    pub(crate) owners: Vec<Option<usize>>,
    /// What of the hidden is there.
    pub(crate) hidden: Vec<(PathBuf, Hidden)>,
    /// The groups that limit it, if there are any: those to be in, and those to go back to.
    pub(crate) groups: Option<(Vec<PathBuf>, Vec<PathBuf>)>,
    pub(crate) role: Role,
    /// Whether a socket inside leads to a proxy outside.
    pub(crate) has_way_out: bool,
}

/// What there is to hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    Directory,
    File,
}

/// What a sandbox is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A command of somebody we do not trust.
    Command,
    /// A process of ours that makes the same walls anew for each of its children, and is trusted with the means.
    Keeper,
    /// A daemon that stays, and has no more rights than what it starts.
    Daemon,
}

impl Role {
    /// As whom programs run, and where their home is.
    pub(crate) fn user(self) -> (&'static str, &'static str) {
        match self {
            Self::Command | Self::Keeper => ("agent", HOME),
            Self::Daemon => (STANDING_USER, STANDING_HOME),
        }
    }

    fn shell(self) -> &'static str {
        match self {
            Self::Command | Self::Keeper => "/bin/sh",
            Self::Daemon => "/bin/bash",
        }
    }
}

/// What a keeper may do, in its own user namespace: make namespaces and mounts, give up rights for its children, and
/// start a network without anybody in it.
const KEEPER_RIGHTS: &[&str] = &["CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_NET_ADMIN", "CAP_SYS_CHROOT"];

/// The whole plan for a command. Its mounts' descriptors come first among those that the leader gets.
pub(crate) fn plan(command: &Command, facts: &Facts<'_>) -> Result<Plan, CommandError> {
    let mut words = Words::default();
    words.all(&[
        "--unshare-all",
        "--unshare-user",
        "--die-with-parent",
        "--new-session",
    ]);
    words.all(&["--hostname", "sandbox", "--cap-drop", "ALL"]);
    match facts.role {
        Role::Command | Role::Daemon => {
            words.all(&["--seccomp"]);
            words.push(Argument::Filter);
        }
        Role::Keeper => {
            for right in KEEPER_RIGHTS {
                words.all(&["--cap-add", right]);
            }
        }
    }
    words.system(facts);
    words.identity(facts.identity, facts.role);
    words.all(&["--proc", "/proc", "--dev", "/dev"]);
    words.memory(command, facts.role);
    let is_below_mount = |path: &str| {
        let mut mounts = command.mounts.iter();
        mounts.any(|mount| Path::new(path).starts_with(&mount.at))
            || Path::new(path).starts_with(facts.role.user().1)
    };
    words.tools(facts, |path| !is_below_mount(path));
    words.mounts(command, facts)?;
    // The user of this server may be called `agent` too.
    words.tools(facts, is_below_mount);
    for (path, kind) in &facts.hidden {
        words.hide(path_text(path)?, *kind);
    }
    words.all(&["--remount-ro", "/dev", "--remount-ro", "/"]);
    words.environment(command, facts.has_way_out);
    words.all(&["--chdir", path_text(&command.directory)?]);
    let (join, leave) = facts.groups.clone().unwrap_or_default();
    let mut line = vec![command.program.clone()];
    line.extend(command.arguments.iter().cloned());
    Ok(Plan {
        bwrap: facts.bwrap.to_owned(),
        user: facts.is_root.then_some(facts.identity),
        stages: words.stages,
        arguments: words.arguments,
        command: line,
        rlimits: rlimits(&command.limits, join.is_empty()),
        join,
        leave,
        listen: facts.has_way_out.then_some(EGRESS_PORT),
    })
}

fn rlimits(limits: &Limits, without_groups: bool) -> Rlimits {
    Rlimits {
        file_bytes: limits.file_bytes,
        open_files: limits.open_files,
        data_bytes: without_groups.then_some(limits.memory_bytes),
        processes: without_groups.then_some(u64::from(limits.processes)),
    }
}

fn path_text(path: &Path) -> Result<&str, CommandError> {
    path.to_str().ok_or_else(|| CommandError::Refused {
        reason: format!("the path {} is not text", path.display()),
        remedy: "use names in UTF-8".to_owned(),
    })
}

/// Directories in memory, of which a command cannot have more than it may have of memory as a whole: where they are,
/// their size and mode.
pub(crate) fn in_memory(command: &Command, home: &'static str) -> Vec<(&'static str, u64, &'static str)> {
    let limits = &command.limits;
    let most = limits.memory_bytes.min(limits.disk_bytes);
    let mut directories = vec![
        ("/tmp", most, "1777"),
        ("/dev/shm", most, "1777"),
        ("/run", most.min(RUN_BYTES), "0755"),
    ];
    if !command.mounts.iter().any(|mount| mount.at == Path::new(home)) {
        directories.push((home, most, "0700"));
    }
    directories
}

/// The command line of bubblewrap as it grows.
#[derive(Debug, Default)]
struct Words {
    arguments: Vec<Argument>,
    stages: Vec<Stage>,
}

impl Words {
    fn push(&mut self, argument: Argument) {
        self.arguments.push(argument);
    }

    fn all(&mut self, words: &[&str]) {
        let words = words.iter().map(|word| Argument::Word((*word).to_owned()));
        self.arguments.extend(words);
    }

    fn stage(&mut self, source: Source, owners: Option<ShownOwners>) -> Argument {
        self.stages.push(Stage { source, owners });
        Argument::Stage(self.stages.len() - 1)
    }

    fn system(&mut self, facts: &Facts<'_>) {
        for shown in facts.shown {
            match shown {
                Shown::Open(path) => self.all(&["--ro-bind", path, path]),
                Shown::Closed(_) => {}
                Shown::Copy(path) => self.file(Argument::File(path.clone()), path),
                Shown::Link { at, to } => self.all(&["--symlink", to, at]),
            }
        }
    }

    /// What may be anywhere, also where the sandbox has something of its own; of that, what is wanted now.
    fn tools(&mut self, facts: &Facts<'_>, is_wanted: impl Fn(&str) -> bool) {
        for shown in facts.shown {
            let Shown::Closed(path) = shown else {
                continue;
            };
            if !is_wanted(path) {
                continue;
            }
            if facts.is_root {
                let stage = self.stage(Source::Path(path.clone()), None);
                self.all(&["--ro-bind"]);
                self.push(stage);
                self.all(&[path]);
            } else {
                self.all(&["--ro-bind-try", path, path]);
            }
        }
    }

    /// Names for the command's user, and for itself.
    fn identity(&mut self, (user, group): (u32, u32), role: Role) {
        let (name, home) = role.user();
        let shell = role.shell();
        let passwd = format!(
            "root:x:0:0:root:/root:/sbin/nologin\n{name}:x:{user}:{group}:{name}:{home}:{shell}\n\
             nobody:x:65534:65534:nobody:/:/sbin/nologin\n"
        );
        let groups = format!("root:x:0:\n{name}:x:{group}:\nnogroup:x:65534:\n");
        let hosts = "127.0.0.1 localhost sandbox\n::1 localhost\n".to_owned();
        self.file(Argument::Text(passwd), "/etc/passwd");
        self.file(Argument::Text(groups), "/etc/group");
        self.file(Argument::Text(hosts), "/etc/hosts");
    }

    fn file(&mut self, content: Argument, at: &str) {
        self.all(&["--perms", "0444", "--file"]);
        self.push(content);
        self.all(&[at]);
    }

    fn memory(&mut self, command: &Command, role: Role) {
        for (at, size, mode) in in_memory(command, role.user().1) {
            self.tmpfs(at, size, mode);
        }
        self.all(&["--dir", "/var"]);
        self.all(&["--symlink", "/run", "/var/run", "--symlink", "/tmp", "/var/tmp"]);
    }

    fn tmpfs(&mut self, at: &str, size: u64, mode: &str) {
        self.all(&["--perms", mode, "--size", &size.max(1).to_string(), "--tmpfs", at]);
    }

    fn mounts(&mut self, command: &Command, facts: &Facts<'_>) -> Result<(), CommandError> {
        for (place, mount) in command.mounts.iter().enumerate() {
            let source = if facts.is_root {
                let namespace = facts.owners.get(place).copied().flatten();
                let owners = namespace.map(|namespace| ShownOwners {
                    namespace,
                    is_needed: mount.access == Access::ReadWrite,
                });
                self.stage(Source::Descriptor(place), owners)
            } else {
                Argument::PathOf(place)
            };
            self.all(&[match mount.access {
                Access::ReadOnly => "--ro-bind",
                Access::ReadWrite => "--bind",
            }]);
            self.push(source);
            self.all(&[path_text(&mount.at)?]);
        }
        Ok(())
    }

    /// Puts something empty, that cannot be written to, over what is to be hidden.
    fn hide(&mut self, path: &str, kind: Hidden) {
        match kind {
            Hidden::Directory => {
                self.tmpfs(path, 4096, "0555");
                self.all(&["--remount-ro", path]);
            }
            Hidden::File => {
                self.all(&["--perms", "0444", "--ro-bind-data"]);
                self.push(Argument::Text(String::new()));
                self.all(&[path]);
            }
        }
    }

    fn environment(&mut self, command: &Command, has_way_out: bool) {
        for (name, value) in &command.environment {
            self.all(&["--setenv", name, value]);
        }
        if !has_way_out {
            return;
        }
        for (name, value) in egress_environment() {
            self.all(&["--setenv", &name, &value]);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            self.all(&["--setenv", name, "localhost,127.0.0.1,::1"]);
        }
    }
}

#[cfg(test)]
mod tests;
