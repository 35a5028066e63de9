//! Using an environment: it is made when it is not there, and nobody changes it meanwhile.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use agentyard_model::Caller;
use agentyard_sandbox::{Access, Interpreter, Mount, Sandbox, has_interpreter};

use super::Environments;
use super::kind::EnvironmentKind;
use super::record::Record;
use super::target::{Location, Owner, Target, mount};
use super::turn::{Use, Wanted};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;

/// How often an environment is made that is gone again when it is to be used.
const TRIES: usize = 3;

/// An environment that somebody uses. It does not change until this is dropped: who wants to install something drops it
/// first.
pub(crate) struct InUse {
    /// What kind it is.
    pub(crate) kind: EnvironmentKind,
    /// Its name, by which interpreters that are kept warm are known.
    pub(crate) key: String,
    /// Another number after each change.
    pub(crate) generation: u64,
    /// The interpreter that it was made with, which no command can change; none for conda's, which bring their own.
    pub(crate) interpreter: Option<Interpreter>,
    /// What the caller is to be told when it was made just now.
    pub(crate) made: Option<String>,
    search_path: String,
    target: Target,
    _turn: Use,
}

/// What was found where an environment should be.
pub(super) enum State {
    Ready(Record),
    /// There is none to be used, for this reason.
    Absent(String),
}

impl Environments {
    /// The environment of a place. It is made when there is none, and when the one that there was is broken.
    pub(crate) async fn enter(
        &self,
        caller: &Caller,
        owner: &Owner,
        operation: &'static str,
        progress: &Progress,
    ) -> Result<InUse> {
        let (looked_for, mut made) = (owner.clone(), None);
        let target = self
            .blocking("looking for an environment", move |environments| {
                environments.target(&looked_for)
            })
            .await?;
        let by = caller.subject.to_string();
        let wanted = Wanted {
            key: &target.key,
            operation,
            by: &by,
            progress,
        };
        for _ in 0..TRIES {
            let turn = self.0.turns.to_use(wanted).await?;
            if let State::Ready(record) = self.state_of(&target).await? {
                return Ok(self.in_use(target, record, made, turn));
            }
            drop(turn);
            let _change = self.0.turns.to_change(wanted).await?;
            if let State::Absent(reason) = self.state_of(&target).await? {
                made = Some(self.make(&target, &reason, progress).await?);
            }
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            "the Python environment was made, and removed again before it could be used",
        )
        .hint("try again"))
    }

    fn in_use(&self, target: Target, record: Record, made: Option<String>, turn: Use) -> InUse {
        InUse {
            kind: target.kind,
            key: target.key.clone(),
            generation: record.generation,
            interpreter: record.interpreter,
            made,
            search_path: self.0.settings.search_path.clone(),
            target,
            _turn: turn,
        }
    }

    /// Whether an environment can be used as it is.
    pub(super) async fn state_of(&self, target: &Target) -> Result<State> {
        let target = target.clone();
        self.blocking("looking at an environment", move |environments| {
            let state = environments.look_at(&target);
            if matches!(state, State::Ready(_)) {
                Record::touch(&target.state);
            }
            Ok(state)
        })
        .await
    }

    pub(super) fn look_at(&self, target: &Target) -> State {
        let Some(record) = Record::read(&target.state) else {
            let is_there = target.host_path().exists() && matches!(target.location, Location::Ours);
            let reason = if is_there {
                "it was left half made"
            } else {
                "there was none"
            };
            return State::Absent(reason.to_owned());
        };
        let has_python = target
            .open()
            .is_ok_and(|directory| has_interpreter(directory.as_fd()));
        if !has_python {
            return State::Absent("its Python was gone".to_owned());
        }
        if record.inside != self.inside(target) {
            return State::Absent("it was made for another sandbox, where it had another path".to_owned());
        }
        match &record.interpreter {
            Some(interpreter) if !interpreter.program.exists() => State::Absent(format!(
                "the Python that it was made with, {}, was gone",
                interpreter.program.display()
            )),
            _ => State::Ready(record),
        }
    }

    /// Where commands see an environment.
    pub(super) fn inside(&self, target: &Target) -> PathBuf {
        let Some(sandbox) = &self.0.sandbox else {
            return target.inside.clone();
        };
        match target.mount(Access::ReadOnly) {
            Ok(mount) => sandbox.path_inside(&mount),
            Err(_) => target.inside.clone(),
        }
    }
}

impl InUse {
    /// What a command must see: the environment, which it cannot change, and the interpreter.
    pub(crate) fn mounts(&self) -> Result<Vec<Mount>> {
        let mut mounts = vec![self.target.mount(Access::ReadOnly)?];
        mounts.extend(interpreter_mount(self.interpreter.as_ref())?);
        Ok(mounts)
    }

    /// Where a command sees the environment.
    pub(crate) fn inside(&self, sandbox: &dyn Sandbox) -> Result<PathBuf> {
        Ok(sandbox.path_inside(&self.target.mount(Access::ReadOnly)?))
    }

    /// Its Python, as a command sees it.
    pub(crate) fn python(&self, sandbox: &dyn Sandbox) -> Result<String> {
        Ok(python_in(&self.inside(sandbox)?))
    }

    /// What a command's environment says about it.
    pub(crate) fn variables(&self, sandbox: &dyn Sandbox) -> Result<Vec<(String, String)>> {
        let inside = self.inside(sandbox)?.display().to_string();
        let prefix = match self.kind {
            EnvironmentKind::Venv | EnvironmentKind::VenvUv => "VIRTUAL_ENV",
            EnvironmentKind::Conda => "CONDA_PREFIX",
        };
        let search_path = format!("{inside}/bin:{}", self.search_path);
        Ok(vec![
            (prefix.to_owned(), inside),
            ("PATH".to_owned(), search_path),
        ])
    }
}

/// The directory of an interpreter, where it is not part of the system.
pub(super) fn interpreter_mount(interpreter: Option<&Interpreter>) -> Result<Option<Mount>> {
    let prefix = interpreter.and_then(Interpreter::prefix_outside_system);
    prefix
        .map(|prefix| mount(prefix, prefix, Access::ReadOnly))
        .transpose()
}

/// The Python of the environment that is seen here.
pub(super) fn python_in(inside: &Path) -> String {
    inside.join("bin/python").display().to_string()
}
