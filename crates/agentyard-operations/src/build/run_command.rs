//! `run_command`: run any command in a tree.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::{Permission, RunId, SecretName, Toolset};
use agentyard_services::{CommandRequest, Place, Result, Waiting};
use schemars::JsonSchema;
use serde::Deserialize;

use super::assignments::Assignments;
use super::network::NetworkAsked;
use super::run_view::RunView;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct RunCommand;

/// Run a command in a working tree, without a shell. One that is not done after `wait_ms` answers `running`: call again with `run` and `after`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunCommandInput {
    /// Program and arguments, each by itself: ["cargo", "test"].
    #[serde(default)]
    command: Vec<String>,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// Relative to the tree.
    directory: Option<PathBuf>,
    /// `NAME=value` each.
    #[serde(default)]
    environment: Assignments,
    /// What it reads.
    stdin: Option<String>,
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

impl Operation for RunCommand {
    const NAME: &'static str = "run_command";
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/build/run_command");
    const ALSO: &'static [Route] = &[
        Route::post("/v1/repos/{repo}/branches/{branch}/run_command"),
        Route::post("/v1/workspaces/{workspace}/run_command"),
    ];
    const WORDS: Option<&'static str> = Some("command");
    type Input = RunCommandInput;
    type Output = RunView;

    async fn call(context: Context<'_>, input: RunCommandInput) -> Result<RunView> {
        let request = CommandRequest {
            place: Place {
                workspace: input.workspace,
                repo: input.repo,
                branch: input.branch,
                scratch: false,
            },
            command: input.command,
            directory: input.directory,
            environment: input.environment.0,
            stdin: input.stdin,
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
            .run_command(context.caller, request, waiting, context.progress)
            .await?;
        Ok(answer.into())
    }
}
