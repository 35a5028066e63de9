//! `install_dependencies`: packages for the environment of a place.

use std::time::Duration;

use agentyard_model::{Permission, RunId, Toolset};
use agentyard_services::{InstallAnswer, InstallFailure, InstallReport, InstallRequest, Result, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct InstallDependencies;

/// Install Python packages into the environment of the workspace, making it when there is none. One that is not done after `wait_ms` answers `running`: call again with `run`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InstallDependenciesInput {
    /// Names, with versions and extras as in requirements.txt: ["numpy>=2", "uvicorn[standard]"].
    #[serde(default)]
    packages: Vec<String>,
    /// A requirements.txt in the workspace.
    requirements: Option<String>,
    /// A pyproject.toml in the workspace.
    pyproject: Option<String>,
    /// With `pyproject`: its dependency groups and extras to install, too.
    #[serde(default)]
    groups: Vec<String>,
    /// Take newer versions of what is installed.
    #[serde(default)]
    upgrade: bool,
    /// How long it may take.
    timeout_ms: Option<u64>,
    /// How long this call waits for it. Default 50000.
    wait_ms: Option<u64>,
    /// An installation to wait for, instead of a new one.
    run: Option<RunId>,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for InstallDependencies {
    const NAME: &'static str = "install_dependencies";
    const COMMAND: Option<&'static str> = Some("exec install");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::put("/v1/exec/install_dependencies");
    const ALSO: &'static [Route] = &[
        Route::put("/v1/repos/{repo}/branches/{branch}/install_dependencies"),
        Route::put("/v1/workspaces/{workspace}/install_dependencies"),
    ];
    const WORDS: Option<&'static str> = Some("packages");
    type Input = InstallDependenciesInput;
    type Output = InstallView;

    async fn call(context: Context<'_>, input: InstallDependenciesInput) -> Result<InstallView> {
        let request = InstallRequest {
            place: place(input.workspace, input.repo, input.branch),
            packages: input.packages,
            requirements: input.requirements,
            pyproject: input.pyproject,
            groups: input.groups,
            upgrade: input.upgrade,
            timeout: input.timeout_ms.map(Duration::from_millis),
        };
        let waiting = Waiting {
            run: input.run,
            after: None,
            wait: input.wait_ms.map(Duration::from_millis),
        };
        let environments = &context.services.environments;
        let answer = environments
            .install(context.caller, request, waiting, context.progress)
            .await?;
        Ok(answer.into())
    }
}

/// What an installation did.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct InstallView {
    /// Names it, while it goes on: call again with `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// It goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    running: bool,
    /// Whether all was installed; left out while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    succeeded: Option<bool>,
    /// What is new: `name==version`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    installed: Vec<String>,
    /// What has another version now: `name==version (was version)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    changed: Vec<String>,
    /// What is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    removed: Vec<String>,
    /// What was asked for and not needed here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    skipped: Vec<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<InstallFailureView>,
    /// That the environment was made just now, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// Some packages are left out of this answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Why packages could not be installed.
#[derive(Serialize, JsonSchema)]
struct InstallFailureView {
    /// What sort of failure: `unknown_package`, `no_matching_version`, `conflict`, `network_refused`, `build_failed` and so on.
    kind: &'static str,
    /// What went wrong.
    message: String,
    /// What the installer said about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    lines: Vec<String>,
    /// What to do next.
    hint: String,
}

impl Output for InstallView {
    fn item_count(&self) -> usize {
        self.installed.len() + self.changed.len() + self.removed.len() + self.skipped.len()
    }

    fn keep(&mut self, mut count: usize) {
        self.truncated = true;
        for list in [
            &mut self.installed,
            &mut self.changed,
            &mut self.removed,
            &mut self.skipped,
        ] {
            list.truncate(count);
            count -= list.len();
        }
    }
}

impl From<InstallAnswer> for InstallView {
    fn from(answer: InstallAnswer) -> Self {
        let view = answer.report.map_or_else(Self::default, Self::from);
        Self {
            running: view.succeeded.is_none(),
            run: answer.run.filter(|_| view.succeeded.is_none()),
            ..view
        }
    }
}

impl From<InstallReport> for InstallView {
    fn from(report: InstallReport) -> Self {
        let pinned = |name: &str, version: &str| format!("{name}=={version}");
        Self {
            run: None,
            running: false,
            succeeded: Some(report.succeeded),
            installed: report
                .installed
                .iter()
                .map(|package| pinned(&package.name, &package.version))
                .collect(),
            changed: report
                .changed
                .iter()
                .map(|change| format!("{} (was {})", pinned(&change.name, &change.to), change.from))
                .collect(),
            removed: report
                .removed
                .iter()
                .map(|package| pinned(&package.name, &package.version))
                .collect(),
            skipped: report.skipped,
            failure: report.failure.map(Into::into),
            environment: report.made,
            duration_ms: Some(u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX)),
            truncated: false,
        }
    }
}

impl From<InstallFailure> for InstallFailureView {
    fn from(failure: InstallFailure) -> Self {
        Self {
            kind: failure.kind.as_str(),
            message: failure.message,
            lines: failure.lines,
            hint: failure.hint,
        }
    }
}
