//! The programs with which projects are built, as far as they are there.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Machine;

/// A program on the search path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What it says its version is; nothing when it does not say, or was not asked.
    pub version: Option<String>,
    /// Where it is.
    pub path: PathBuf,
}

/// The programs that are looked for, and how each is asked for its version. Those without a question take long to
/// answer, or write something first.
const TOOLS: &[(&str, Option<&str>)] = &[
    ("git", Some("--version")),
    ("make", Some("--version")),
    ("cmake", Some("--version")),
    ("ninja", Some("--version")),
    ("meson", Some("--version")),
    ("just", Some("--version")),
    ("cc", Some("--version")),
    ("gcc", Some("--version")),
    ("clang", Some("--version")),
    ("python3", Some("--version")),
    ("pip3", Some("--version")),
    ("uv", Some("--version")),
    ("poetry", None),
    ("node", Some("--version")),
    ("npm", Some("--version")),
    ("pnpm", None),
    ("yarn", None),
    ("bun", Some("--version")),
    ("deno", Some("--version")),
    ("cargo", Some("--version")),
    ("rustc", Some("--version")),
    ("go", Some("version")),
    ("java", Some("-version")),
    ("mvn", None),
    ("gradle", None),
    ("dotnet", None),
    ("ruby", Some("--version")),
    ("bundle", None),
    ("php", Some("--version")),
    ("perl", Some("-v")),
    ("docker", Some("--version")),
    ("podman", Some("--version")),
    ("kubectl", None),
    ("rg", Some("--version")),
    ("jq", Some("--version")),
    ("sqlite3", Some("--version")),
];

/// How many are asked at once.
const AT_ONCE: usize = 4;

/// After this, no further one is asked.
const PATIENCE: Duration = Duration::from_secs(8);

impl Machine {
    /// Looks for programs, and asks each that is there for its version. They come from the search path that was handed
    /// in and are started outside every workspace.
    #[must_use]
    pub fn toolbox(&self) -> Vec<Tool> {
        let begun = Instant::now();
        let found: Vec<(Tool, Option<&str>)> = TOOLS
            .iter()
            .filter_map(|&(name, question)| {
                let path = self.locate(name)?;
                let version = None;
                Some((Tool { name, version, path }, question))
            })
            .collect();
        let versions = Mutex::new(vec![None; found.len()]);
        let next = AtomicUsize::new(0);
        let ask = || {
            while begun.elapsed() < PATIENCE {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((tool, question)) = found.get(place) else {
                    return;
                };
                let version = question.and_then(|question| self.version_of(tool.name, question));
                versions.lock().unwrap_or_else(PoisonError::into_inner)[place] = version;
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..AT_ONCE {
                scope.spawn(ask);
            }
            ask();
        });
        let versions = versions.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tools = found.into_iter().zip(versions);
        tools
            .map(|((tool, _), version)| Tool { version, ..tool })
            .collect()
    }

    fn version_of(&self, name: &str, question: &str) -> Option<String> {
        let outcome = self.probe(name, &[question]).ok()?;
        outcome.succeeded().then(|| version_in(&outcome.first_line()))
    }
}

/// The version in a line such as `git version 2.39.5` or `go version go1.22 linux/amd64`; the line when there is none.
fn version_in(line: &str) -> String {
    line.split_whitespace()
        .map(|word| word.trim_matches(|character: char| matches!(character, '"' | '(' | ')' | ',')))
        .map(|word| {
            word.trim_start_matches(|character: char| character.is_ascii_alphabetic() || character == '-')
        })
        .find(|word| word.starts_with(|character: char| character.is_ascii_digit()) && word.contains('.'))
        .unwrap_or(line)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::MachineContext;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (line, version) in [
            ("git version 2.39.5", "2.39.5"),
            ("Python 3.11.2", "3.11.2"),
            ("v20.11.1", "20.11.1"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
            ("openjdk version \"17.0.9\" 2023-10-17", "17.0.9"),
            ("jq-1.6", "1.6"),
            (
                "This is perl 5, version 36, subversion 0 (v5.36.0) built for x",
                "5.36.0",
            ),
            ("who knows", "who knows"),
        ] {
            assert_eq!(version_in(line), version);
        }
    }

    #[test]
    fn programs_of_the_search_path_are_asked_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        for (name, script) in [
            ("make", "echo GNU Make 4.3"),
            ("gcc", "exit 1"),
            ("gradle", "echo asked > \"$(dirname \"$0\")/asked\"; echo 1.2"),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let machine = Machine::new(MachineContext {
            search_path: directory.path().into(),
            home: None,
            runtime_directory: None,
            scratch: directory.path().to_owned(),
        });
        let tools = machine.toolbox();
        let told: Vec<_> = tools
            .iter()
            .map(|tool| (tool.name, tool.version.as_deref()))
            .collect();
        assert_eq!(told, [("make", Some("4.3")), ("gcc", None), ("gradle", None)]);
        assert!(!directory.path().join("asked").exists());
    }
}
