//! Where the directories of a command are in a sandbox of somebody else's.
//!
//! The tree keeps its place, by which everybody knows it; it is made where it is not there. All others are below the home
//! directory, because whoever runs commands there may write nowhere else.

use std::path::{Path, PathBuf};

use crate::command::Command;

/// The tree's place.
pub(super) const WORKSPACE: &str = "/workspace";

/// What the others are below.
const BELOW: &str = "/home/user/agentyard";

/// Where a directory is that a command is to see here.
pub(super) fn inside(at: &Path) -> PathBuf {
    if at.starts_with(WORKSPACE) {
        return at.to_owned();
    }
    let below = at.strip_prefix("/").unwrap_or(at);
    Path::new(BELOW).join(below)
}

/// A path as a command knows it, and the directory that it is in or below.
pub(super) fn translated(path: &Path, command: &Command) -> PathBuf {
    let mount = command
        .mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.at))
        .max_by_key(|mount| mount.at.components().count());
    let found = mount.and_then(|mount| Some((mount, path.strip_prefix(&mount.at).ok()?)));
    match found {
        Some((mount, below)) if below.as_os_str().is_empty() => inside(&mount.at),
        Some((mount, below)) => inside(&mount.at).join(below),
        None => path.to_owned(),
    }
}

/// A value of the environment: the paths in it, which colons may separate, lead to where they are meant to.
pub(super) fn translated_value(value: &str, command: &Command) -> String {
    let part = |part: &str| {
        if part.starts_with('/') {
            translated(Path::new(part), command).display().to_string()
        } else {
            part.to_owned()
        }
    };
    // An address has colons that separate nothing.
    if value.contains("://") {
        return value.to_owned();
    }
    value.split(':').map(part).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::command::{Access, Limits, Mount, Network};

    #[test]
    fn paths_lead_to_where_their_directories_are() {
        let mount = |at: &str| Mount {
            source: File::open("/").unwrap().into(),
            host_path: "/".into(),
            at: at.into(),
            access: Access::ReadWrite,
        };
        let command = Command {
            program: "true".to_owned(),
            arguments: Vec::new(),
            mounts: vec![mount("/workspace"), mount("/home/agent"), mount("/env")],
            directory: "/workspace".into(),
            hidden: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            network: Network::None,
            limits: Limits::default(),
        };
        for (value, expected) in [
            ("/workspace/src", "/workspace/src"),
            ("/home/agent", "/home/user/agentyard/home/agent"),
            (
                "/env/bin:/usr/bin:/bin",
                "/home/user/agentyard/env/bin:/usr/bin:/bin",
            ),
            ("/environment", "/environment"),
            ("http://a/env:8", "http://a/env:8"),
            ("dumb", "dumb"),
        ] {
            assert_eq!(translated_value(value, &command), expected);
        }
        let once = translated_value("/env/bin", &command);
        assert_eq!(translated_value(&once, &command), once);
    }
}
