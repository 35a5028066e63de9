//! Installing something into an environment, and telling what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd as _;
use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, Outcome, Permission, RunId};
use agentyard_sandbox::{Distribution, Network, PythonVersion, Stream, distributions};

use super::Environments;
use super::commands::{self, CERTIFICATES, CONSTRAINTS, REQUIREMENTS};
use super::entering::{State, interpreter_mount};
use super::failure::{self, InstallFailure};
use super::files_on_disk;
use super::kind::EnvironmentKind;
use super::making::Surroundings;
use super::performing::Performed;
use super::record::Record;
use super::requested::{Requested, Sources};
use super::requirement::Requirement;
use super::target::{Owner, Target};
use super::turn::Wanted;
use crate::error::{Error, Result};
use crate::places::Place;
use crate::progress::Progress;
use crate::runs::{Recorded, RunEnd, Stage, Waiting, ended};

/// How long it may take to put pip into an environment.
const TO_ADD_PIP: Duration = Duration::from_secs(120);

/// What is to be installed, and where.
#[derive(Debug, Clone, Default)]
pub struct InstallRequest {
    /// In the environment of which place.
    pub place: Place,
    /// Requirements: names, with extras and versions where need be.
    pub packages: Vec<String>,
    /// A file of the tree with requirements.
    pub requirements: Option<String>,
    /// A `pyproject.toml` of the tree, whose dependencies are installed.
    pub pyproject: Option<String>,
    /// Which optional groups of it are installed, too.
    pub groups: Vec<String>,
    /// Whether what is there already is replaced by the newest version.
    pub upgrade: bool,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// What a caller who waited is told.
#[derive(Debug)]
pub struct InstallAnswer {
    /// By what to come back, while it goes on.
    pub run: Option<RunId>,
    /// What came of it; nothing while it goes on.
    pub report: Option<InstallReport>,
}

/// What came of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallReport {
    /// Whether all is there that was asked for.
    pub succeeded: bool,
    /// Why it failed; nothing when it did not.
    pub failure: Option<InstallFailure>,
    /// What is there now and was not before.
    pub installed: Vec<Distribution>,
    /// What is there in another version.
    pub changed: Vec<ChangedDistribution>,
    /// What is not there any more.
    pub removed: Vec<Distribution>,
    /// What was asked for and is not needed on this platform, by its marker.
    pub skipped: Vec<String>,
    /// How long it took.
    pub duration: Duration,
    /// That the environment was made for this, and why.
    pub made: Option<String>,
    /// The state of the environment after it.
    pub generation: u64,
}

/// Something that is there in another version than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDistribution {
    /// Its name.
    pub name: String,
    /// The version before.
    pub from: String,
    /// The version now.
    pub to: String,
}

/// What is to be done, once everything that a caller said was found right.
struct Plan {
    owner: Owner,
    requested: Requested,
    upgrade: bool,
    timeout: Duration,
}

/// What came of an installer.
pub(super) struct Filled {
    pub(super) report: InstallReport,
    performed: Performed,
}

impl Environments {
    /// Installs something, or waits for an installation that goes on.
    ///
    /// # Errors
    /// When the caller may not run anything, the request holds something else than requirements, or nothing can be run
    /// here. That something could not be installed is told in the report.
    pub async fn install(
        &self,
        caller: &Caller,
        request: InstallRequest,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<InstallAnswer> {
        caller.require(Permission::AgentRun)?;
        let plan = match waiting.run {
            Some(_) => None,
            None => Some(self.plan(caller, request, progress).await?),
        };
        let environments = self.clone();
        let body = || {
            let plan = plan.ok_or_else(|| Error::invalid("there is nothing to install"))?;
            Ok(move |stage: Stage| environments.perform_install(stage, plan))
        };
        let runs = &self.0.runs;
        let (answer, report) = runs
            .attend_with::<InstallReport, _, _>(caller, waiting, body, progress)
            .await?;
        if answer.end.is_some() && report.is_none() {
            return Err(Error::invalid(format!(
                "the run `{}` is no installation",
                answer.run
            )));
        }
        Ok(InstallAnswer {
            run: answer.end.is_none().then_some(answer.run),
            report: report.map(|report| report.as_ref().clone()),
        })
    }

    async fn plan(&self, caller: &Caller, request: InstallRequest, progress: &Progress) -> Result<Plan> {
        self.sandbox()?;
        Ok(Plan {
            timeout: self.timeout(request.timeout)?,
            owner: self.owner(caller, &request.place, progress).await?,
            requested: self.requested(caller, &request).await?,
            upgrade: request.upgrade,
        })
    }

    /// The body of a run: installs, tells what the installer says, and puts it on record.
    async fn perform_install(self, stage: Stage, plan: Plan) -> Result<(RunEnd, InstallReport)> {
        let requirements: Vec<String> = plan
            .requested
            .requirements
            .iter()
            .map(ToString::to_string)
            .collect();
        let recorded = Recorded {
            operation: "install_dependencies",
            code: requirements.join("\n"),
            place: plan.owner.place.clone(),
            environment: None,
            backend: self.sandbox()?.backend(),
            network: Network::Registry,
            started_at: self.0.clock.now(),
        };
        let (progress, mut steps) = Progress::watched();
        let performing = async {
            let _place = stage.place_to_run().await?;
            let caller = stage.caller().clone();
            let installing = self.install_for(&caller, plan, &progress);
            tokio::pin!(installing);
            loop {
                tokio::select! {
                    filled = &mut installing => return filled,
                    Ok(()) = steps.changed() => {
                        let message = steps.borrow_and_update().message.clone();
                        stage.progress(&message);
                    }
                }
            }
        };
        let filled = stage.unless_abandoned(performing).await.and_then(|filled| filled);
        let end = match &filled {
            Ok(filled) => {
                stage.say(Stream::Stdout, filled.performed.output.clone());
                Ok(ended(filled.performed.exit))
            }
            Err(error) => Err(error.again()),
        };
        stage.record(recorded, &end, None).await;
        let filled = filled?;
        Ok((ended(filled.performed.exit), filled.report))
    }

    /// Installs what these requirements name, to its end: for a run that lacked it.
    pub(crate) async fn install_now(
        &self,
        caller: &Caller,
        owner: &Owner,
        packages: &[String],
        progress: &Progress,
    ) -> Result<InstallReport> {
        caller.require(Permission::AgentRun)?;
        let requirements = packages.iter().map(|text| Requirement::read(text));
        let requested = Requested {
            requirements: requirements.collect::<Result<_>>()?,
            constraints: Vec::new(),
        };
        requested.check(self.0.settings.allow_urls)?;
        let plan = Plan {
            owner: owner.clone(),
            requested,
            upgrade: false,
            timeout: self.0.settings.timeout,
        };
        Ok(self.install_for(caller, plan, progress).await?.report)
    }

    fn timeout(&self, wanted: Option<Duration>) -> Result<Duration> {
        let most = self.0.settings.timeout;
        match wanted {
            Some(wanted) if wanted.is_zero() || wanted > most => Err(Error::invalid(format!(
                "`timeout`: expected up to {} s",
                most.as_secs()
            ))),
            wanted => Ok(wanted.unwrap_or(most)),
        }
    }

    async fn requested(&self, caller: &Caller, request: &InstallRequest) -> Result<Requested> {
        let sources = Sources {
            packages: request.packages.clone(),
            requirements: request.requirements.clone(),
            pyproject: request.pyproject.clone(),
            groups: request.groups.clone(),
        };
        let mut requested = sources.named()?;
        if sources.need_tree() {
            let read = self.0.places.read(caller, &request.place, move |tree, cancel| {
                sources.in_tree(tree, cancel)
            });
            requested = requested.and(read.await??);
        }
        requested.check(self.0.settings.allow_urls)?;
        Ok(requested)
    }

    async fn install_for(&self, caller: &Caller, plan: Plan, progress: &Progress) -> Result<Filled> {
        let looked_for = plan.owner.clone();
        let target = self
            .blocking("looking for an environment", move |environments| {
                environments.target(&looked_for)
            })
            .await?;
        let by = caller.subject.to_string();
        let wanted = Wanted {
            key: &target.key,
            operation: "install_dependencies",
            by: &by,
            progress,
        };
        let change = self.0.turns.to_change(wanted).await?;
        let mut made = None;
        if let State::Absent(reason) = self.state_of(&target).await? {
            made = Some(self.make(&target, &reason, progress).await?);
        }
        let filled = self
            .fill(&target, &plan.requested, plan.upgrade, plan.timeout, progress)
            .await;
        drop(change);
        let done = filled.as_ref().is_ok_and(|filled| filled.report.succeeded);
        let outcome = if done { Outcome::Done } else { Outcome::Failed };
        let event = AuditEvent::with_outcome(caller, "install_dependencies", &target.key, outcome);
        self.0.audit.record_soon(event).await;
        let mut filled = filled?;
        filled.report.made = made;
        Ok(filled)
    }

    /// Installs into an environment that is there. Whoever calls this has the right to change it.
    pub(super) async fn fill(
        &self,
        target: &Target,
        requested: &Requested,
        upgrade: bool,
        timeout: Duration,
        progress: &Progress,
    ) -> Result<Filled> {
        let network = self.network()?;
        let changed = target.clone();
        let mut record = self
            .blocking("looking at an environment", move |environments| {
                environments.make_room(&changed)?;
                environments.begin_change(&changed)
            })
            .await?;
        let mut before = self.installed(target, record.python).await?;
        if target.kind == EnvironmentKind::Venv && !before.iter().any(|found| found.name == "pip") {
            self.add_pip(target, &record, progress).await?;
            before = self.installed(target, record.python).await?;
        }
        progress.report(0, None, "installing packages");
        let performed = self
            .run_installer(target, &record, requested, upgrade, network, timeout, progress)
            .await?;
        let after = self.installed(target, record.python).await?;
        let (installed, changed, removed) = difference(before, after);
        let failure = (!performed.succeeded()).then(|| failure::explain(&performed));
        let is_untouched = installed.is_empty() && changed.is_empty() && removed.is_empty();
        record.unfinished = failure.is_some() && !is_untouched;
        let (state, written) = (target.state.clone(), record.clone());
        self.blocking("writing down what was installed", move |_| {
            // What is only for one command need not stay until the next.
            let _ = files_on_disk::remove(&state.join("work"));
            let failed = |error| Error::internal("writing down that an environment was changed", error);
            written.write(&state).map_err(failed)
        })
        .await?;
        let report = InstallReport {
            succeeded: failure.is_none(),
            failure,
            installed,
            changed,
            removed,
            skipped: failure::skipped(&performed.output),
            duration: performed.exit.duration,
            made: None,
            generation: record.generation,
        };
        Ok(Filled { report, performed })
    }

    /// Notes that the environment changes, before it does: also for whoever comes after a crash.
    fn begin_change(&self, target: &Target) -> Result<Record> {
        let State::Ready(mut record) = self.look_at(target) else {
            return Err(Error::internal(
                "changing an environment",
                std::io::Error::other("it is not there any more"),
            ));
        };
        record.begin_change();
        let failed = |error| Error::internal("writing down that an environment changes", error);
        record.write(&target.state).map_err(failed)?;
        Ok(record)
    }

    pub(super) async fn installed(
        &self,
        target: &Target,
        python: PythonVersion,
    ) -> Result<Vec<Distribution>> {
        let target = target.clone();
        self.blocking("reading what is installed", move |_| {
            let directory = target.open()?;
            distributions(directory.as_fd(), python)
                .map_err(|error| Error::internal("reading what is installed", error))
        })
        .await
    }

    async fn add_pip(&self, target: &Target, record: &Record, progress: &Progress) -> Result<()> {
        progress.report(0, None, "adding pip to the environment");
        let mut surroundings = self.surroundings(target).await?;
        surroundings
            .mounts
            .extend(interpreter_mount(record.interpreter.as_ref())?);
        let invocation = commands::add_pip(&surroundings.inside.environment);
        let performed = self
            .perform_in(surroundings, invocation, Network::None, TO_ADD_PIP, progress)
            .await?;
        if performed.succeeded() {
            return Ok(());
        }
        let lines = failure::important_lines(&performed.output).join("; ");
        Err(Error::new(
            crate::error::ErrorKind::Unavailable,
            format!("pip could not be put into the environment: {lines}"),
        )
        .hint("see that the interpreter has its `ensurepip` module (on Debian: python3-venv), or choose `venv-uv`"))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one command, with all that it depends on"
    )]
    async fn run_installer(
        &self,
        target: &Target,
        record: &Record,
        requested: &Requested,
        upgrade: bool,
        network: Network,
        timeout: Duration,
        progress: &Progress,
    ) -> Result<Performed> {
        let settings = &self.0.settings;
        let mut surroundings = self.surroundings(target).await?;
        surroundings
            .mounts
            .extend(interpreter_mount(record.interpreter.as_ref())?);
        self.write_files(target, requested).await?;
        let Surroundings { mounts, inside } = &mut surroundings;
        let invocation = match target.kind {
            EnvironmentKind::Venv => commands::install_by_pip(settings, inside, upgrade),
            EnvironmentKind::VenvUv => {
                let uv = self.uv(progress).await?;
                mounts.extend(uv.mount);
                commands::install_by_uv(&uv.program, settings, inside, upgrade)
            }
            EnvironmentKind::Conda => {
                let conda = self.blocking("looking for conda", Self::conda).await?;
                mounts.extend(self.conda_mount(&conda)?);
                commands::install_conda_packages(&conda, inside, requested, settings)?
            }
        };
        self.perform_in(surroundings, invocation, network, timeout, progress)
            .await
    }

    /// Writes what the installer reads.
    async fn write_files(&self, target: &Target, requested: &Requested) -> Result<()> {
        let lines = |list: &[Requirement]| {
            list.iter()
                .map(|requirement| format!("{requirement}\n"))
                .collect::<String>()
        };
        let (requirements, constraints) = (lines(&requested.requirements), lines(&requested.constraints));
        let work = target.state.join("work");
        self.blocking("writing what is to be installed", move |environments| {
            let failed = |error| Error::internal("writing what is to be installed", error);
            fs::write(work.join(REQUIREMENTS), requirements).map_err(failed)?;
            fs::write(work.join(CONSTRAINTS), constraints).map_err(failed)?;
            if let Some(certificates) = &environments.0.settings.certificates {
                let content = fs::read(certificates).map_err(|error| {
                    Error::new(
                        crate::error::ErrorKind::Unavailable,
                        format!(
                            "the certificates in `{}` cannot be read: {error}",
                            certificates.display()
                        ),
                    )
                    .hint("see `exec.certificates`")
                })?;
                fs::write(work.join(CERTIFICATES), content).map_err(failed)?;
            }
            Ok(())
        })
        .await
    }
}

/// What was added, changed and removed.
fn difference(
    before: Vec<Distribution>,
    after: Vec<Distribution>,
) -> (Vec<Distribution>, Vec<ChangedDistribution>, Vec<Distribution>) {
    let mut before: BTreeMap<String, String> = before
        .into_iter()
        .map(|found| (found.name, found.version))
        .collect();
    let (mut installed, mut changed) = (Vec::new(), Vec::new());
    for Distribution { name, version } in after {
        match before.remove(&name) {
            None => installed.push(Distribution { name, version }),
            Some(from) if from != version => changed.push(ChangedDistribution {
                name,
                from,
                to: version,
            }),
            Some(_) => {}
        }
    }
    let removed = before
        .into_iter()
        .map(|(name, version)| Distribution { name, version });
    (installed, changed, removed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told() {
        let list = |texts: &[&str]| -> Vec<Distribution> {
            let pairs = texts.iter().filter_map(|text| text.split_once(' '));
            pairs
                .map(|(name, version)| Distribution {
                    name: name.to_owned(),
                    version: version.to_owned(),
                })
                .collect()
        };
        let (installed, changed, removed) =
            difference(list(&["a 1", "b 1", "c 1"]), list(&["b 2", "c 1", "d 1"]));
        assert_eq!((installed, removed), (list(&["d 1"]), list(&["a 1"])));
        assert_eq!(changed.len(), 1);
        assert_eq!((changed[0].from.as_str(), changed[0].to.as_str()), ("1", "2"));
    }
}
