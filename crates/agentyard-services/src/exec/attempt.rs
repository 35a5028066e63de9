//! Running code once: in an interpreter that is ready for it, or in one that is started.

use std::path::{Path, PathBuf};

use agentyard_git::FileTree;
use agentyard_sandbox::{Code, ColdCall, Command, Limits, NotWarm, Outcome, Report, Script};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use super::answer::ContextState;
use super::performing::{Granted, Performance, context_state};
use super::request::Planned;
use crate::environments::{InUse, Owner};
use crate::error::{Error, ErrorKind, Result};
use crate::places::Held;
use crate::progress::Progress;
use crate::runs::{RunEnd, Stage, from_sandbox, inside};

/// Code that has run once.
pub(super) struct Attempt {
    pub(super) end: RunEnd,
    pub(super) report: Option<Report>,
    pub(super) context: Option<ContextState>,
    pub(super) warm: bool,
    pub(super) note: Option<String>,
}

impl Performance {
    /// Sees that the code is where it is to be run from.
    pub(super) async fn place_code(&self, held: &Held) -> Result<()> {
        let (tree, planned) = (held.tree.clone(), self.plan.code.clone());
        let turnstile = self.exec.0.places.turnstile();
        let placed = turnstile.pass(move |cancel| {
            let files = FileTree::open(&tree)?;
            match &planned {
                Planned::Text(_) => {}
                Planned::File(path) => {
                    files.path_in(path)?;
                }
                Planned::Kept(path, code) => {
                    files.initialize(&files.path_in(path)?, code.as_bytes(), cancel)?;
                }
            }
            Ok(())
        });
        placed.await?;
        match &self.plan.code {
            Planned::Text(_) | Planned::Kept(..) => Ok(()),
            Planned::File(path) => check_file(held, path),
        }
    }

    /// Runs the code, in the environment of its place.
    pub(super) async fn attempt(
        &self,
        stage: &Stage,
        held: &Held,
        owner: &Owner,
        granted: &Granted,
    ) -> Result<Attempt> {
        let (progress, steps) = Progress::watched();
        let environments = &self.exec.0.environments;
        let entering = environments.enter(stage.caller(), owner, self.plan.operation, &progress);
        let environment = stage.unless_abandoned(stage.relaying(steps, entering)).await??;
        let script = self.script(stage, held, &environment, granted).await?;
        stage.progress("running the code");
        let (script, why_cold) = match (&self.exec.0.interpreters, environment.interpreter.is_some()) {
            (Some(interpreters), true) => match interpreters.run(script).await {
                Ok(interpreted) => {
                    let end = stage.watch(interpreted.running, &granted.mask).await?;
                    let Outcome {
                        report,
                        context_ended,
                    } = interpreted.outcome.await.unwrap_or_default();
                    let is_new = interpreted.context_is_new;
                    return Ok(Attempt {
                        end,
                        report,
                        context: context_state(self.plan.context.as_ref(), is_new, context_ended),
                        warm: true,
                        note: environment.made,
                    });
                }
                Err(NotWarm::Unavailable { script, reason }) => (*script, reason),
                Err(NotWarm::Busy) => return Err(busy(self.plan.context.as_deref())),
                Err(NotWarm::Full) => return Err(full()),
            },
            (Some(_), false) => (
                script,
                "a conda environment brings its own interpreter".to_owned(),
            ),
            (None, _) => (script, "this sandbox keeps no interpreters".to_owned()),
        };
        if self.plan.context.is_some() {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("`context` is not to be had here: {why_cold}"),
            )
            .hint("leave it out and keep what must stay in files"));
        }
        tracing::debug!(
            reason = why_cold,
            "code is run in an interpreter that is started for it"
        );
        let (end, report) = self.run_cold(stage, script, granted).await?;
        Ok(Attempt {
            end,
            report,
            context: None,
            warm: false,
            note: environment.made,
        })
    }

    async fn run_cold(
        &self,
        stage: &Stage,
        script: Script,
        granted: &Granted,
    ) -> Result<(RunEnd, Option<Report>)> {
        let unprepared = |error| Error::internal("preparing code to be run", error);
        let directory = CallDirectory::make(self.exec.0.places.data()).map_err(unprepared)?;
        let prepared = ColdCall::prepare(script, &directory.0, self.sandbox.as_ref());
        let (call, command) = prepared.map_err(unprepared)?;
        let running = self.sandbox.start(command).await.map_err(from_sandbox)?;
        let end = stage.watch(running, &granted.mask).await?;
        Ok((end, call.report()))
    }

    /// All that running the code takes.
    async fn script(
        &self,
        stage: &Stage,
        held: &Held,
        environment: &InUse,
        granted: &Granted,
    ) -> Result<Script> {
        let (plan, sandbox) = (&self.plan, self.sandbox.as_ref());
        let room = held.room(sandbox.backend()).await?;
        let mut mounts = room.mounts;
        mounts.extend(environment.mounts()?);
        let mut variables = environment.variables(sandbox)?;
        variables.push(("PYTHONUNBUFFERED".to_owned(), "1".to_owned()));
        for (name, value) in plan.environment.iter().cloned().chain(granted.variables()) {
            variables.retain(|(other, _)| *other != name);
            variables.push((name, value));
        }
        let prefix = environment.inside(sandbox)?;
        let tree =
            fstat(held.tree.directory()).map_err(|error| Error::internal("looking at a tree", error))?;
        // The workspace first: whatever works in it is forgotten with it.
        let (place, environment_key) = (held.name(), &environment.key);
        let key = format!("{place}:{environment_key}:{}:{}", tree.st_dev, tree.st_ino);
        let context = plan.context.as_ref().map(|name| {
            let caller = stage.caller();
            format!("{}:{}:{key}:{name}", caller.tenant, caller.subject)
        });
        Ok(Script {
            code: match &plan.code {
                Planned::Text(code) => Code::Text(code.clone()),
                Planned::File(path) | Planned::Kept(path, _) => Code::File(inside(Some(Path::new(path)))),
            },
            arguments: plan.arguments.clone(),
            interpreter: match &environment.interpreter {
                Some(interpreter) => interpreter.program.clone(),
                None => PathBuf::from(environment.python(sandbox)?),
            },
            prefix: Some(prefix),
            key,
            generation: environment.generation,
            context,
            command: Command {
                program: environment.python(sandbox)?,
                arguments: Vec::new(),
                mounts,
                directory: inside(plan.directory.as_deref()),
                hidden: room.hidden,
                environment: self.exec.0.runs.environment_with(variables),
                input: plan.input.clone(),
                network: plan.network,
                limits: Limits {
                    duration: plan.timeout,
                    ..self.exec.0.runs.limits()
                },
            },
        })
    }
}

impl Granted {
    fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let secrets = self.secrets.iter();
        secrets.map(|(name, value)| (name.to_string(), value.expose().to_owned()))
    }
}

/// Whether there is a file to be run: said here, it says which one.
fn check_file(held: &Held, path: &str) -> Result<()> {
    let shown = path.escape_debug();
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(held.tree.directory(), path, flags, Mode::empty(), resolve) {
        Ok(found) => match fstat(found).map(|found| FileType::from_raw_mode(found.st_mode)) {
            Ok(FileType::RegularFile) => Ok(()),
            _ => Err(Error::invalid(format!(
                "`{shown}` is not a file, so it cannot be run"
            ))),
        },
        Err(Errno::NOENT | Errno::NOTDIR) => {
            Err(Error::not_found(format!("there is no file `{shown}`"))
                .hint("initialize_code_file writes one"))
        }
        Err(Errno::XDEV) => Err(Error::invalid(format!("`{shown}` leads out of the tree"))),
        Err(error) => Err(Error::invalid(format!("`{shown}` cannot be opened: {error}"))),
    }
}

fn busy(context: Option<&str>) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("other code runs in the context `{}`", context.unwrap_or_default()),
    )
    .hint("wait until it has ended, or name another context")
}

fn full() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "code runs in as many contexts as there may be",
    )
    .hint("wait until some of it has ended, or leave `context` out")
}

/// A directory for one call. It goes with this.
struct CallDirectory(PathBuf);

impl CallDirectory {
    /// Makes one, in a directory that only this server's user can look into.
    fn make(data: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let calls = data.join("calls");
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700).create(&calls)?;
        let directory = calls.join(agentyard_model::RunId::new().to_string());
        std::fs::DirBuilder::new().mode(0o755).create(&directory)?;
        Ok(Self(directory))
    }
}

impl Drop for CallDirectory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, directory = %self.0.display(), "what a call left could not be removed");
        }
    }
}
