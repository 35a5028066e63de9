//! What Agentyard knows of an environment: a file beside it, which no command can reach.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agentyard_model::Timestamp;
use agentyard_sandbox::{Interpreter, PythonVersion};
use serde::{Deserialize, Serialize};

use super::files_on_disk::write_whole;
use super::kind::EnvironmentKind;

const NAME: &str = "agentyard.json";

/// What is known of an environment. It is there when the environment was made to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) kind: EnvironmentKind,
    pub(super) python: PythonVersion,
    /// With what it was made; nothing for conda's, which bring their own.
    pub(super) interpreter: Option<Interpreter>,
    /// Where commands see it: programs in it know that path.
    pub(super) inside: PathBuf,
    pub(super) created: Timestamp,
    /// Another number after each change: what was read before is not what is there now.
    pub(super) generation: u64,
    /// Whether somebody began to change it and did not come to the end.
    #[serde(default)]
    pub(super) unfinished: bool,
}

impl Record {
    /// What is known of the environment that is kept here.
    pub(super) fn read(state: &Path) -> Option<Self> {
        let text = std::fs::read(state.join(NAME)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn write(&self, state: &Path) -> io::Result<()> {
        write_whole(&state.join(NAME), &serde_json::to_vec(self)?)
    }

    /// It is no environment any more.
    pub(super) fn remove(state: &Path) -> io::Result<()> {
        match std::fs::remove_file(state.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Somebody uses it now.
    pub(super) fn touch(state: &Path) {
        // Only for choosing what is removed first when there is no room, so nothing depends on it.
        let file = std::fs::File::options().append(true).open(state.join(NAME));
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// When somebody used it last.
    pub(super) fn used(state: &Path) -> Option<SystemTime> {
        std::fs::metadata(state.join(NAME)).ok()?.modified().ok()
    }

    /// It is about to change.
    pub(super) fn begin_change(&mut self) {
        self.generation = next_generation(self.generation);
        self.unfinished = true;
    }
}

/// A number that no state of an environment had before, also when all that was known of it is gone.
pub(super) fn next_generation(last: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or_default();
    now.max(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_what_is_none_is_not() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Record::read(directory.path()), None);
        let mut record = Record {
            kind: EnvironmentKind::VenvUv,
            python: "3.12.1".parse().unwrap(),
            interpreter: None,
            inside: "/env".into(),
            created: "2026-01-02T03:04:05Z".parse().unwrap(),
            generation: 1,
            unfinished: false,
        };
        record.write(directory.path()).unwrap();
        assert_eq!(Record::read(directory.path()), Some(record.clone()));
        record.begin_change();
        assert!(record.unfinished && record.generation > 1);
        std::fs::write(directory.path().join(NAME), "{").unwrap();
        assert_eq!(Record::read(directory.path()), None);
        Record::remove(directory.path()).unwrap();
        Record::remove(directory.path()).unwrap();
    }

    #[test]
    fn generations_only_grow() {
        assert!(next_generation(0) > 1_000_000_000_000);
        assert_eq!(next_generation(u64::MAX - 1), u64::MAX);
    }
}
