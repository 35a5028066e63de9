//! How a command is started in a sandbox of somebody else's: by a script that bounds it and becomes it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use agentyard_envd::process::{Config, StartRequest};
use agentyard_model::RunId;

use super::limits;
use super::paths::{translated, translated_value};
use super::transfer::MARKER;
use crate::command::{Command, CommandError, Limits};

/// Bounds what it becomes, looks for the program on the command's own path, and becomes it:
/// `marker blocks files data seconds processes program…`. The text is always the same: whatever a caller says is an
/// argument. What cannot be started is told by the marker, which no program would say by chance. A bound that this shell
/// cannot set, or that is lower already, stays as it is.
const BECOME: &str = r#"marker=$1
ulimit -c 0 2>/dev/null
ulimit -f "$2" 2>/dev/null
ulimit -n "$3" 2>/dev/null
ulimit -d "$4" 2>/dev/null
ulimit -t "$5" 2>/dev/null
ulimit -p "$6" 2>/dev/null || ulimit -u "$6" 2>/dev/null
shift 6
if ! command -v -- "$1" >/dev/null 2>&1; then
  if [ -e "$1" ]; then printf '%s 126' "$marker" >&2; exit 126; fi
  printf '%s 127' "$marker" >&2; exit 127
fi
exec "$@""#;

/// What a command is run with.
pub(super) struct Launch {
    pub(super) request: StartRequest,
    pub(super) program: String,
    pub(super) input: Vec<u8>,
    pub(super) limits: Limits,
    /// By what everything is known that it starts.
    pub(super) marker: String,
}

impl Launch {
    pub(super) fn of(command: Command) -> Self {
        let marker = RunId::new().to_string();
        let inside = |path: &str| translated(Path::new(path), &command).display().to_string();
        let mut envs: BTreeMap<String, String> = command
            .environment
            .iter()
            .map(|(name, value)| (name.clone(), translated_value(value, &command)))
            .collect();
        envs.insert(MARKER.to_owned(), marker.clone());
        let program = if command.program.starts_with('/') {
            inside(&command.program)
        } else {
            command.program.clone()
        };
        let directory = translated(&command.directory, &command).display().to_string();
        let mut words = vec![program];
        words.extend(command.arguments);
        let request = StartRequest {
            process: bounded(&marker, &command.limits, words, envs, directory),
            stdin: Some(!command.input.is_empty()),
            ..StartRequest::default()
        };
        Self {
            request,
            program: command.program,
            input: command.input,
            limits: command.limits,
            marker,
        }
    }

    /// Why the program was not started, if that is what was said.
    pub(super) fn not_started(&self, said: &[u8]) -> Option<CommandError> {
        let kind = match said.strip_prefix(self.marker.as_bytes())? {
            b" 126" => io::ErrorKind::PermissionDenied,
            b" 127" => io::ErrorKind::NotFound,
            _ => return None,
        };
        Some(self.unstartable(kind.into()))
    }

    pub(super) fn unstartable(&self, source: io::Error) -> CommandError {
        CommandError::Start {
            program: self.program.clone(),
            source,
        }
    }
}

/// A program with its arguments, in bounds.
pub(super) fn bounded(
    marker: &str,
    limits: &Limits,
    words: Vec<String>,
    envs: BTreeMap<String, String>,
    directory: String,
) -> Config {
    let ours = ["-c", BECOME, "sh", marker].map(str::to_owned);
    let bounds = limits::in_units_of_shells(limits);
    Config {
        cmd: "/bin/sh".to_owned(),
        args: ours.into_iter().chain(bounds).chain(words).collect(),
        envs,
        cwd: Some(directory),
    }
}
