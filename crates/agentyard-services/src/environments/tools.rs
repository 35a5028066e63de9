//! The programs with which environments are made: an interpreter, uv, conda.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::PoisonError;

use agentyard_sandbox::{Access, Conda, Interpreter, Mount, Network};

use super::Environments;
use super::entering::State;
use super::kind::EnvironmentKind;
use super::requested::Requested;
use super::requirement::Requirement;
use super::target::{Location, Target, mount};
use super::turn::Wanted;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;

/// Why a kind of environment cannot be had here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) reason: String,
    pub(super) remedy: String,
}

/// A program, as a command sees it.
pub(super) struct ToolInside {
    pub(super) program: String,
    pub(super) mount: Option<Mount>,
}

/// Where commands see the uv that was fetched.
const UV: &str = "/uv";

impl Environments {
    /// What is missing for a kind of environment.
    pub(super) fn missing(&self, kind: EnvironmentKind) -> Option<Missing> {
        let no_interpreter = || self.interpreter().err().map(|error| missing(&error));
        match kind {
            EnvironmentKind::Venv => no_interpreter(),
            EnvironmentKind::VenvUv => {
                let can_be_fetched = self.0.settings.network >= Network::Registry;
                let is_there = can_be_fetched || self.0.settings.machine.program("uv").is_some();
                if is_there {
                    no_interpreter()
                } else {
                    Some(missing(&no_uv()))
                }
            }
            EnvironmentKind::Conda => self.conda().err().map(|error| missing(&error)),
        }
    }

    /// The interpreter that new environments are made with.
    pub(super) fn interpreter(&self) -> Result<Interpreter> {
        let mut known = self.0.interpreter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interpreter) = known.as_ref().filter(|known| known.program.exists()) {
            return Ok(interpreter.clone());
        }
        let settings = &self.0.settings;
        let found = match &settings.python {
            Some(program) => settings.machine.interpreter_at(program),
            None => settings.machine.interpreter(),
        };
        let found = found.ok_or_else(|| {
            let message = match &settings.python {
                Some(program) => format!(
                    "`{}` (`exec.python`) is no Python 3.9 or newer",
                    program.display()
                ),
                None => "there is no Python 3.9 or newer on the search path".to_owned(),
            };
            Error::new(ErrorKind::Unavailable, message)
                .hint("install python3, or name an interpreter by `exec.python`")
        })?;
        *known = Some(found.clone());
        Ok(found)
    }

    pub(super) fn conda(&self) -> Result<Conda> {
        self.0.settings.machine.conda().ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                "none of micromamba, mamba and conda is on the search path",
            )
            .hint("install micromamba, or choose `venv` by `configure_environment`")
        })
    }

    /// What a command must see for conda to work.
    pub(super) fn conda_mount(&self, conda: &Conda) -> Result<Option<Mount>> {
        outside_system(&conda.directory)
    }

    /// uv: the machine's, or else one of ours, which is fetched from the index when it is first needed.
    pub(super) async fn uv(&self, progress: &Progress) -> Result<ToolInside> {
        if let Some(program) = self.0.settings.machine.program("uv") {
            let program = program.canonicalize().unwrap_or(program);
            let directory = program.parent().map(outside_system).transpose()?.flatten();
            return Ok(ToolInside {
                program: program.display().to_string(),
                mount: directory,
            });
        }
        let target = self.uv_target();
        let wanted = Wanted {
            key: &target.key,
            operation: "fetching uv",
            by: "agentyard",
            progress,
        };
        // Whoever has it in a mount goes on with it whatever happens here, so it need not be held while it is used.
        let _turn = self.0.turns.to_change(wanted).await?;
        let is_ready = matches!(self.state_of(&target).await?, State::Ready(record) if !record.unfinished);
        if !is_ready || !target.host_path().join("bin/uv").exists() {
            self.fetch_uv(&target, progress).await?;
        }
        let mounted = target.mount(Access::ReadOnly)?;
        let program = self.sandbox()?.path_inside(&mounted).join("bin/uv");
        Ok(ToolInside {
            program: program.display().to_string(),
            mount: Some(mounted),
        })
    }

    /// A virtual environment is made and filled without uv, so this does not come back here; the compiler cannot know.
    fn fetch_uv<'call>(
        &'call self,
        target: &'call Target,
        progress: &'call Progress,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'call>> {
        Box::pin(async move {
            if self.0.settings.network < Network::Registry {
                return Err(no_uv());
            }
            self.make(target, "it was not there", progress).await?;
            let requested = Requested {
                requirements: vec![Requirement::read("uv")?],
                constraints: Vec::new(),
            };
            let timeout = self.0.settings.timeout;
            match self
                .fill(target, &requested, false, timeout, progress)
                .await?
                .report
                .failure
            {
                None => Ok(()),
                Some(failure) => Err(no_uv().hint(format!("fetching it failed: {}", failure.message))),
            }
        })
    }

    fn uv_target(&self) -> Target {
        let key = "tools.uv/venv".to_owned();
        Target {
            kind: EnvironmentKind::Venv,
            state: self.directory().join(&key),
            key,
            location: Location::Ours,
            inside: PathBuf::from(UV),
            conda_name: None,
            cache: "tools".to_owned(),
        }
    }
}

/// A directory that a command must see, unless it is part of the system.
fn outside_system(directory: &Path) -> Result<Option<Mount>> {
    if directory.starts_with("/usr") || directory.starts_with("/bin") {
        return Ok(None);
    }
    mount(directory, directory, Access::ReadOnly).map(Some)
}

fn missing(error: &Error) -> Missing {
    Missing {
        reason: error.message().to_owned(),
        remedy: error.hints().first().cloned().unwrap_or_default(),
    }
}

fn no_uv() -> Error {
    Error::new(ErrorKind::Unavailable, "uv is not installed on this machine")
        .hint("install uv, allow `sandbox.network = \"registry\"` so that it can be fetched, or choose `venv` by `configure_environment`")
}
