//! The interpreters of this machine. Each is asked once who it is: what is found on the search path may be a script that
//! chooses among several (pyenv), or part of somebody's environment.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::machine::probe::{Outcome, is_program};

/// The oldest Python with which environments are made.
const OLDEST: (u32, u32) = (3, 9);

/// Under which names it is looked for.
const NAMES: &[&str] = &["python3", "python"];

/// Where one's own programs are that no search path of a service names.
const OWN_PROGRAMS: &str = ".local/bin";

/// Asks who it is: the program and directory of the interpreter itself, its version, and whether it can make
/// environments.
const QUESTION: &str = "\
import os, sys
try:
    import venv, ensurepip
    makes = 1
except ImportError:
    makes = 0
print(os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable))
print(os.path.realpath(sys.base_prefix))
print('%d.%d.%d' % sys.version_info[:3])
print(makes)";

/// A Python interpreter of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interpreter {
    /// The program, free of links.
    pub program: PathBuf,
    /// The directory in which it and its library are.
    pub prefix: PathBuf,
    /// Its version.
    pub version: PythonVersion,
    /// Whether it has what `python -m venv` needs.
    pub makes_environments: bool,
}

/// The version of a Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonVersion {
    /// 3.
    pub major: u32,
    /// The second number, by which its library is named.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl Interpreter {
    /// The directory that a command must see for this interpreter to work; none when it is part of the system.
    #[must_use]
    pub fn prefix_outside_system(&self) -> Option<&Path> {
        (!self.prefix.starts_with("/usr")).then_some(self.prefix.as_path())
    }
}

impl Machine {
    /// The interpreters on the search path, in its order, as far as they are new enough. Each is started once.
    #[must_use]
    pub fn interpreters(&self) -> Vec<Interpreter> {
        let mut found: Vec<Interpreter> = Vec::new();
        for name in NAMES {
            for program in self.locate_all(name) {
                if let Some(interpreter) = self.interpreter_at(&program)
                    && found.iter().all(|known| known.program != interpreter.program)
                {
                    found.push(interpreter);
                }
            }
        }
        found
    }

    /// The interpreter that environments are made with: the first that can, or else the first.
    #[must_use]
    pub fn interpreter(&self) -> Option<Interpreter> {
        let mut first = None;
        for program in NAMES.iter().flat_map(|name| self.locate_all(name)) {
            match self.interpreter_at(&program) {
                Some(interpreter) if interpreter.makes_environments => return Some(interpreter),
                found => first = first.or(found),
            }
        }
        first
    }

    /// The interpreter behind this program; none when it is too old, or says nothing that makes sense.
    #[must_use]
    pub fn interpreter_at(&self, program: &Path) -> Option<Interpreter> {
        let outcome = self
            .probe_at(program.to_owned(), &["-I", "-c", QUESTION])
            .ok()
            .filter(Outcome::succeeded)?;
        let mut lines = outcome.output().lines();
        let (program, prefix) = (PathBuf::from(lines.next()?), PathBuf::from(lines.next()?));
        let interpreter = Interpreter {
            version: lines.next()?.parse().ok()?,
            makes_environments: lines.next()? == "1",
            program,
            prefix,
        };
        let version = interpreter.version;
        let is_new_enough = (version.major, version.minor) >= OLDEST;
        (is_new_enough && self.may_be_shown(&interpreter)).then_some(interpreter)
    }

    /// Where a program is: on the search path, or among the person's own.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let own = self
            .context
            .home
            .as_ref()
            .map(|home| home.join(OWN_PROGRAMS).join(name));
        self.locate(name).or_else(|| own.filter(|path| is_program(path)))
    }

    /// Commands see the directory of their interpreter, so it must hold nothing beside.
    fn may_be_shown(&self, interpreter: &Interpreter) -> bool {
        let prefix = &interpreter.prefix;
        let holds_home = self
            .context
            .home
            .as_ref()
            .is_some_and(|home| home.starts_with(prefix));
        interpreter.prefix_outside_system().is_none()
            || prefix.is_absolute()
                && prefix.parent().is_some()
                && !holds_home
                && interpreter.program.starts_with(prefix)
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a version such as 3.12.1")]
pub struct InvalidPythonVersion;

impl FromStr for PythonVersion {
    type Err = InvalidPythonVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.splitn(3, '.').map(|number| number.parse().ok());
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch))) => Ok(Self { major, minor, patch }),
            _ => Err(InvalidPythonVersion),
        }
    }
}

impl Serialize for PythonVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PythonVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::machine::MachineContext;

    fn machine(search_path: &Path, home: Option<&Path>) -> Machine {
        Machine::new(MachineContext {
            search_path: search_path.into(),
            home: home.map(Path::to_owned),
            runtime_directory: None,
            scratch: PathBuf::new(),
        })
    }

    fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What is started right after it was written may still be open for writing in a child of another test.
    fn asked(machine: &Machine, program: &Path) -> Option<Interpreter> {
        (0..20).find_map(|_| machine.interpreter_at(program))
    }

    #[test]
    fn the_systems_interpreter_is_found_behind_a_script() {
        let directory = tempfile::tempdir().unwrap();
        let shim = script(directory.path(), "python3", "exec /usr/bin/python3 \"$@\"");
        let machine = machine(directory.path(), None);
        let interpreter = asked(&machine, &shim).unwrap();
        assert!(interpreter.program.starts_with("/usr/bin"), "{interpreter:?}");
        assert_eq!(interpreter.prefix, Path::new("/usr"));
        assert_eq!(interpreter.prefix_outside_system(), None);
        assert_eq!(machine.interpreters(), [interpreter]);
    }

    #[test]
    fn an_interpreter_must_be_new_and_alone_in_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let says = |name: &str, program: &str, prefix: &str, version: &str| {
            script(
                directory.path(),
                name,
                &format!("printf '%s\\n' {program} {prefix} {version} 1"),
            )
        };
        let home = Path::new("/home/ada");
        let machine = machine(directory.path(), Some(home));
        let good = says("good", "/opt/python/bin/python3", "/opt/python", "3.12.1");
        assert_eq!(
            asked(&machine, &good).unwrap().prefix_outside_system(),
            Some(Path::new("/opt/python"))
        );
        for (program, prefix, version) in [
            ("/opt/python/bin/python3", "/opt/python", "3.8.18"),
            ("/opt/python/bin/python3", "/opt/python", "2.7.18"),
            ("/opt/python/bin/python3", "/opt/python", "new"),
            ("/bin/python3", "/", "3.12.1"),
            ("/home/ada/bin/python3", "/home/ada", "3.12.1"),
            ("/home/ada/python3", "/home", "3.12.1"),
            ("/opt/python/bin/python3", "/srv", "3.12.1"),
            ("python3", "opt", "3.12.1"),
        ] {
            let bad = says("bad", program, prefix, version);
            assert_eq!(machine.interpreter_at(&bad), None, "{program} {prefix} {version}");
        }
    }

    #[test]
    fn versions_are_read_and_written() {
        let version: PythonVersion = "3.12.1".parse().unwrap();
        assert_eq!(version.to_string(), "3.12.1");
        for text in ["", "3", "3.12", "3.12.1rc1", "3.12.1.0", "a.b.c"] {
            assert!(text.parse::<PythonVersion>().is_err(), "{text}");
        }
    }
}
