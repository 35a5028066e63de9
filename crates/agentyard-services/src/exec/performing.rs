//! The body of a run of code: the turn to change the tree, the code, what is missing for it, and what came of it.

use std::sync::Arc;
use std::time::SystemTime;

use agentyard_model::{ExecutionException, Secret, SecretName};
use agentyard_sandbox::{Network, Report, Sandbox};

use super::Exec;
use super::answer::{ContextState, Exception, ExecDetails, Installed, MissingPackage};
use super::attempt::Attempt;
use super::changes;
use super::packages::package_of;
use super::request::{Plan, Planned};
use crate::environments::{InstallReport, Owner};
use crate::error::Result;
use crate::masking::Mask;
use crate::places::Held;
use crate::progress::Progress;
use crate::runs::{Recorded, RunEnd, Stage};

/// Code that is to be run.
pub(super) struct Performance {
    pub(super) exec: Exec,
    pub(super) plan: Plan,
    pub(super) sandbox: Arc<dyn Sandbox>,
}

/// What the code is granted, and what is never to be shown.
pub(super) struct Granted {
    pub(super) secrets: Vec<(SecretName, Secret)>,
    pub(super) mask: Mask,
}

impl Performance {
    /// Runs the code to its end.
    pub(super) async fn perform(self, stage: Stage) -> Result<(RunEnd, ExecDetails)> {
        let secrets = &self.exec.0.secrets;
        let granted = secrets.granted(stage.caller(), &self.plan.secrets).await?;
        let granted = Granted {
            mask: Mask::new(&granted)?,
            secrets: granted,
        };
        let held = stage.hold(&self.plan.place, self.plan.operation).await?;
        let _place = stage.place_to_run().await?;
        let recorded = self.recorded(&held, &granted.mask);
        let mut details = ExecDetails::default();
        let end = self.run_in(&stage, &held, &granted, &mut details).await;
        let exception = details.exception.as_ref().map(|exception| ExecutionException {
            kind: exception.kind.clone(),
            message: exception.message.clone(),
        });
        stage.record(recorded, &end, exception).await;
        held.done(end.as_ref().is_ok_and(|end| end.exit_code == Some(0)))
            .await;
        Ok((end?, details))
    }

    async fn run_in(
        &self,
        stage: &Stage,
        held: &Held,
        granted: &Granted,
        details: &mut ExecDetails,
    ) -> Result<RunEnd> {
        if let Some(below) = &self.plan.directory {
            stage.check_directory(held, below).await?;
        }
        self.place_code(held).await?;
        let started = SystemTime::now();
        let owner = self.owner(stage).await?;
        let mut attempt = self.attempt(stage, held, &owner, granted).await?;
        let mut missing = attempt.missing(granted);
        if let Some(package) = missing.as_ref().filter(|_| self.plan.auto_install) {
            let installed = self.install(stage, &owner, package).await;
            if installed.succeeded {
                stage.progress("running the code again");
                attempt = self.attempt(stage, held, &owner, granted).await?;
                missing = attempt.missing(granted);
            }
            details.installed = Some(installed);
        }
        details.missing_package = missing;
        details.note = attempt.note;
        details.warm = attempt.warm;
        details.context = attempt.context;
        let report = attempt.report.unwrap_or_default();
        changes::tell(held, &report.files, started, details).await;
        details.exception = report.exception.map(|raised| Exception {
            kind: granted.mask.text(&raised.kind),
            message: granted.mask.text(&raised.message),
            frames: raised.frames,
        });
        if let Some(exception) = &mut details.exception {
            for frame in &mut exception.frames {
                frame.text = granted.mask.text(&frame.text);
            }
        }
        Ok(attempt.end)
    }

    /// The place that the environment belongs to.
    async fn owner(&self, stage: &Stage) -> Result<Owner> {
        let environments = &self.exec.0.environments;
        environments
            .owner(stage.caller(), &self.plan.place, &Progress::ignored())
            .await
    }

    /// Installs a package. That it cannot be is no failure of the code, but something to be told with it.
    async fn install(&self, stage: &Stage, owner: &Owner, missing: &MissingPackage) -> Installed {
        let packages = vec![missing.package.clone()];
        let report = match self.exec.0.runs.network(Some(Network::Registry)) {
            Err(error) => Err(error),
            Ok(_) => {
                stage.progress(&format!("installing {}", missing.package));
                let (progress, steps) = Progress::watched();
                let environments = &self.exec.0.environments;
                let installing = environments.install_now(stage.caller(), owner, &packages, &progress);
                stage.relaying(steps, installing).await
            }
        };
        let (succeeded, report) = match report {
            Ok(report) => (report.succeeded, told(&report)),
            Err(error) => (false, error.message().to_owned()),
        };
        Installed {
            packages,
            report,
            succeeded,
        }
    }

    fn recorded(&self, held: &Held, mask: &Mask) -> Recorded {
        let code = match &self.plan.code {
            Planned::Text(code) | Planned::Kept(_, code) => code,
            Planned::File(path) => path,
        };
        Recorded {
            operation: self.plan.operation,
            code: mask.text(code),
            place: held.name(),
            environment: None,
            backend: self.sandbox.backend(),
            network: self.plan.network,
            started_at: self.exec.0.clock.now(),
        }
    }
}

impl Attempt {
    /// The package that is missing, if one is.
    fn missing(&self, granted: &Granted) -> Option<MissingPackage> {
        let import = missing_import(self.report.as_ref()?)?;
        let import = granted.mask.text(import);
        let package = package_of(&import)?;
        Some(MissingPackage { import, package })
    }
}

fn missing_import(report: &Report) -> Option<&str> {
    report.exception.as_ref()?.missing.as_deref()
}

fn told(report: &InstallReport) -> String {
    if let Some(failure) = &report.failure {
        return format!("{}; {}", failure.message, failure.hint);
    }
    let installed = report.installed.iter();
    let installed: Vec<String> = installed
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    format!("installed {}", installed.join(", "))
}

/// The context that code ran in, when it asked for one.
pub(super) fn context_state(name: Option<&String>, is_new: bool, ended: bool) -> Option<ContextState> {
    name.map(|name| ContextState {
        name: name.clone(),
        is_new,
        ended,
    })
}
