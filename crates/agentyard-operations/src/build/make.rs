//! `make`: build with the makefile of a tree.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::{Permission, RunId, SecretName, Toolset};
use agentyard_services::{MakeRequest, Place, Result, Waiting};
use schemars::JsonSchema;
use serde::Deserialize;

use super::assignments::Assignments;
use super::network::NetworkAsked;
use super::run_view::RunView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct Make;

/// Run make in a working tree. One that is not done after `wait_ms` answers `running`: call again with `run` and `after`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MakeInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// Default: the makefile's first.
    #[serde(default)]
    targets: Vec<String>,
    /// `NAME=value` each.
    #[serde(default)]
    variables: Assignments,
    /// Recipes at once.
    jobs: Option<u32>,
    /// Go on after a failure.
    #[serde(default)]
    keep_going: bool,
    /// Show what would be run.
    #[serde(default)]
    dry_run: bool,
    /// Relative to the tree.
    directory: Option<PathBuf>,
    /// Secrets that it finds in its environment, by name.
    #[serde(default)]
    secrets: Vec<SecretName>,
    /// Default none; `registry` reaches package indexes.
    network: Option<NetworkAsked>,
    /// How long it may run.
    timeout_ms: Option<u64>,
    /// How long this call waits for it. Default 50000.
    wait_ms: Option<u64>,
    /// A run to wait for, instead of a new one.
    run: Option<RunId>,
    /// With `run`: only output after this event.
    after: Option<u64>,
}

impl Operation for Make {
    const NAME: &'static str = "make";
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/build/make");
    const ALSO: &'static [Route] = &[
        Route::post("/v1/repos/{repo}/branches/{branch}/make"),
        Route::post("/v1/workspaces/{workspace}/make"),
    ];
    const WORDS: Option<&'static str> = Some("targets");
    type Input = MakeInput;
    type Output = RunView;

    async fn call(context: Context<'_>, input: MakeInput) -> Result<RunView> {
        let request = MakeRequest {
            place: Place {
                workspace: input.workspace,
                repo: input.repo,
                branch: input.branch,
                scratch: false,
            },
            targets: input.targets,
            variables: input.variables.0,
            jobs: input.jobs,
            keep_going: input.keep_going,
            dry_run: input.dry_run,
            directory: input.directory,
            secrets: input.secrets,
            network: input.network.map(Into::into),
            timeout: input.timeout_ms.map(Duration::from_millis),
        };
        let waiting = Waiting {
            run: input.run,
            after: input.after,
            wait: input.wait_ms.map(Duration::from_millis),
        };
        let runs = &context.services.runs;
        let answer = runs
            .make(context.caller, request, waiting, context.progress)
            .await?;
        Ok(answer.into())
    }
}
