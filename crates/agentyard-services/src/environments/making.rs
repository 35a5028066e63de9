//! Making an environment, inside the sandbox.

use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::time::Duration;

use agentyard_git::Confined;
use agentyard_sandbox::{Access, Interpreter, Mount, Network, PythonVersion, has_interpreter, made_with};

use super::Environments;
use super::commands::{self, Inside, Invocation};
use super::entering::interpreter_mount;
use super::failure::important_lines;
use super::files_on_disk::{fresh_directory, private_directory};
use super::kind::EnvironmentKind;
use super::performing::{Errand, Performed};
use super::record::{Record, next_generation};
use super::target::{Location, Target, mount};
use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::progress::Progress;

/// How long it may take to make an environment without the network.
const TO_MAKE: Duration = Duration::from_secs(120);

/// Where commands see the directory for one command, and what was downloaded before.
const WORK: &str = "/install";
const CACHE: &str = "/cache";

/// What is there before an environment is made.
enum Ground {
    /// An empty directory.
    Empty,
    /// An environment that somebody else has made.
    Made,
}

/// Directories that a command sees beside the environment.
pub(super) struct Surroundings {
    pub(super) mounts: Vec<Mount>,
    pub(super) inside: Inside,
}

impl Environments {
    /// Makes an environment, and says so. Whoever calls this has the right to change it.
    pub(super) async fn make(&self, target: &Target, reason: &str, progress: &Progress) -> Result<String> {
        self.sandbox()?;
        progress.report(0, None, format!("making the `{}` environment", target.kind));
        let prepared = target.clone();
        let (ground, before) = self
            .blocking("preparing an environment", move |environments| {
                environments.prepare(&prepared)
            })
            .await?;
        let (python, interpreter) = match (ground, target.kind) {
            (Ground::Empty, EnvironmentKind::Venv | EnvironmentKind::VenvUv) => {
                self.make_venv(target, progress).await?
            }
            (Ground::Empty, EnvironmentKind::Conda) => (self.make_conda(target, progress).await?, None),
            (Ground::Made, EnvironmentKind::Venv | EnvironmentKind::VenvUv) => {
                let adopted = target.clone();
                let interpreter = self
                    .blocking("looking at an environment", move |environments| {
                        environments.adopt(&adopted)
                    })
                    .await?;
                (interpreter.version, Some(interpreter))
            }
            (Ground::Made, EnvironmentKind::Conda) => (self.ask_version(target, progress).await?, None),
        };
        let record = Record {
            kind: target.kind,
            python,
            interpreter,
            inside: self.inside(target),
            created: self.0.clock.now(),
            generation: next_generation(before),
            unfinished: false,
        };
        record
            .write(&target.state)
            .map_err(|error| Error::internal("writing down that an environment was made", error))?;
        Ok(format!(
            "the `{}` environment was made with Python {python}: {reason}",
            target.kind
        ))
    }

    /// Clears the ground, and says of which generation was what stood there.
    fn prepare(&self, target: &Target) -> Result<(Ground, u64)> {
        let failed = |error| Error::internal("making the directory of an environment", error);
        let before = Record::read(&target.state).map_or(0, |record| record.generation);
        private_directory(&target.state).map_err(failed)?;
        Record::remove(&target.state).map_err(failed)?;
        let ground = match &target.location {
            Location::Ours => {
                self.make_room(target)?;
                fresh_directory(&target.host_path()).map_err(failed)?;
                if target.kind == EnvironmentKind::Conda {
                    // What conda fills must be one of its environments already: it refuses a directory that is only empty.
                    let marks = target.host_path().join("conda-meta");
                    fs::create_dir(&marks)
                        .and_then(|()| fs::write(marks.join("history"), ""))
                        .map_err(failed)?;
                }
                Ground::Empty
            }
            Location::Machine(path) => {
                fs::create_dir_all(path).map_err(|error| {
                    Error::new(
                        ErrorKind::Unavailable,
                        format!("`{}` cannot be made: {error}", path.display()),
                    )
                })?;
                ground_of(target)?
            }
            Location::Tree(tree, below) => {
                make_in_tree(tree, below)?;
                ground_of(target)?
            }
        };
        Ok((ground, before))
    }

    async fn make_venv(
        &self,
        target: &Target,
        progress: &Progress,
    ) -> Result<(PythonVersion, Option<Interpreter>)> {
        let interpreter = self
            .blocking("looking for an interpreter", Self::interpreter)
            .await?;
        let mut surroundings = self.surroundings(target).await?;
        surroundings.mounts.extend(interpreter_mount(Some(&interpreter))?);
        let invocation = if target.kind == EnvironmentKind::VenvUv {
            let uv = self.uv(progress).await?;
            surroundings.mounts.extend(uv.mount);
            commands::make_by_uv(&uv.program, &interpreter, &surroundings.inside)
        } else {
            commands::make_venv(&interpreter, &surroundings.inside.environment)
        };
        let performed = self
            .perform_in(surroundings, invocation, Network::None, TO_MAKE, progress)
            .await?;
        if !performed.succeeded() {
            return Err(not_made(target.kind, &performed).hint(
                "see that the interpreter has its `venv` module (on Debian: python3-venv), or name another one by \
                 `exec.python`",
            ));
        }
        Ok((interpreter.version, Some(interpreter)))
    }

    async fn make_conda(&self, target: &Target, progress: &Progress) -> Result<PythonVersion> {
        let conda = self.blocking("looking for conda", Self::conda).await?;
        let mut surroundings = self.surroundings(target).await?;
        surroundings.mounts.extend(self.conda_mount(&conda)?);
        let invocation = commands::make_by_conda(&conda, &surroundings.inside);
        let (network, timeout) = (self.network()?, self.0.settings.timeout);
        let performed = self
            .perform_in(surroundings, invocation, network, timeout, progress)
            .await?;
        if !performed.succeeded() {
            return Err(not_made(target.kind, &performed).hint("choose `venv` by `configure_environment`"));
        }
        self.ask_version(target, progress).await
    }

    async fn ask_version(&self, target: &Target, progress: &Progress) -> Result<PythonVersion> {
        let surroundings = self.surroundings(target).await?;
        let invocation = commands::ask_version(&surroundings.inside.environment);
        let performed = self
            .perform_in(surroundings, invocation, Network::None, TO_MAKE, progress)
            .await?;
        let version = performed.output.lines().find_map(|line| line.trim().parse().ok());
        version.filter(|_| performed.succeeded()).ok_or_else(|| {
            not_made(target.kind, &performed).hint("the environment has no Python that starts")
        })
    }

    /// The interpreter behind an environment that somebody else has made. Only one that this machine is known to have: the
    /// environment names a directory, and commands would see it.
    fn adopt(&self, target: &Target) -> Result<Interpreter> {
        let directory = target.open()?;
        let shown = target.host_path();
        let home =
            made_with(directory.as_fd()).map_err(|error| Error::internal("reading pyvenv.cfg", error))?;
        let Some(home) = home.filter(|_| has_interpreter(directory.as_fd())) else {
            return Err(Error::invalid(format!(
                "`{}` is neither empty nor a virtual environment",
                shown.display()
            ))
            .hint("name another directory, or one that is not there yet"));
        };
        let settings = &self.0.settings;
        let configured = settings
            .python
            .as_deref()
            .and_then(|program| settings.machine.interpreter_at(program));
        let known = configured.into_iter().chain(settings.machine.interpreters());
        let home = home.canonicalize().unwrap_or(home);
        let mut fitting =
            known.filter(|known| known.program.parent() == Some(&home) || known.prefix.join("bin") == home);
        fitting.next().ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                format!(
                    "`{}` was made with a Python in `{}`, which is not on the search path here",
                    shown.display(),
                    home.display().to_string().escape_debug()
                ),
            )
            .hint("make it anew with a Python of this machine, or name that one by `exec.python`")
        })
    }

    /// A directory for the next command, and what was downloaded before, beside the environment.
    pub(super) async fn surroundings(&self, target: &Target) -> Result<Surroundings> {
        let target = target.clone();
        self.blocking("preparing an environment", move |environments| {
            let failed = |error| Error::internal("making the directory of a command", error);
            let (work, cache) = (target.state.join("work"), environments.cache(&target));
            fresh_directory(&work).map_err(failed)?;
            private_directory(cache.parent().unwrap_or(&cache)).map_err(failed)?;
            if !cache.exists() {
                fresh_directory(&cache).map_err(failed)?;
            }
            let mounts = vec![
                mount(&work, Path::new(WORK), Access::ReadWrite)?,
                target.mount(Access::ReadWrite)?,
                mount(&cache, Path::new(CACHE), Access::ReadWrite)?,
            ];
            let sandbox = environments.sandbox()?;
            let inside = Inside {
                work: sandbox.path_inside(&mounts[0]),
                environment: sandbox.path_inside(&mounts[1]),
                cache: sandbox.path_inside(&mounts[2]),
            };
            Ok(Surroundings { mounts, inside })
        })
        .await
    }

    pub(super) async fn perform_in(
        &self,
        surroundings: Surroundings,
        invocation: Invocation,
        network: Network,
        duration: Duration,
        progress: &Progress,
    ) -> Result<Performed> {
        let errand = Errand {
            invocation,
            mounts: surroundings.mounts,
            home: surroundings.inside.work,
            network,
            duration,
        };
        self.perform(errand, progress).await
    }

    /// The network that installers need.
    pub(super) fn network(&self) -> Result<Network> {
        if self.0.settings.network >= Network::Registry {
            return Ok(Network::Registry);
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            "nothing can be installed here: commands may not reach any package index",
        )
        .hint("whoever runs Agentyard allows it by `sandbox.network = \"registry\"`"))
    }

    fn cache(&self, target: &Target) -> std::path::PathBuf {
        self.0
            .settings
            .directory
            .join("cache")
            .join(&target.cache)
            .join("packages")
    }
}

/// What stands in a directory that is not ours alone.
fn ground_of(target: &Target) -> Result<Ground> {
    let directory = target.open()?;
    let content = fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let mut content =
        content.map_err(|error| Error::internal("reading the directory of an environment", error))?;
    Ok(if content.next().is_none() {
        Ground::Empty
    } else {
        Ground::Made
    })
}

/// Makes a directory in a tree, by descriptor.
fn make_in_tree(tree: &Confined, below: &Path) -> Result<()> {
    if tree.beneath(below).is_ok() {
        return Ok(());
    }
    let (parent, name) = match (below.parent(), below.file_name()) {
        (Some(parent), Some(name)) if parent.as_os_str().is_empty() => (tree.clone(), name),
        (Some(parent), Some(name)) => (tree.beneath(parent).map_err(from_git)?, name),
        _ => return Err(Error::invalid("the environment needs a directory of its own")),
    };
    let made = Path::new("/proc/self/fd")
        .join(parent.directory().as_raw_fd().to_string())
        .join(name);
    fs::create_dir(made).map_err(|error| {
        Error::new(
            ErrorKind::Conflict,
            format!("the directory `{}` cannot be made: {error}", below.display()),
        )
    })
}

fn not_made(kind: EnvironmentKind, performed: &Performed) -> Error {
    let lines = important_lines(&performed.output).join("; ");
    Error::new(
        ErrorKind::Unavailable,
        format!("the `{kind}` environment could not be made: {lines}"),
    )
}
