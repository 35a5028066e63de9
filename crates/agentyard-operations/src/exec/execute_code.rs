//! `execute_code`: run a piece of Python.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::{Permission, RunId, SecretName, Toolset};
use agentyard_services::{CodeRequest, ExecOptions, Result, Waiting};
use schemars::JsonSchema;
use serde::Deserialize;

use super::execution_view::ExecutionView;
use super::place;
use crate::build::{Assignments, NetworkAsked};
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct ExecuteCode;

/// Run Python code in the sandbox, in the workspace. Answers with its output, exception, files it wrote and images. One that is not done after `wait_ms` answers `running`: call again with `run` and `after`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecuteCodeInput {
    /// The code.
    #[serde(default)]
    code: String,
    /// Keep the code in a new file of this name, and run that.
    filename: Option<String>,
    /// Name of an interpreter that keeps its variables between calls. Default a fresh one.
    context: Option<String>,
    /// Install a missing package and run again, once.
    #[serde(default)]
    auto_install: bool,
    /// What the code finds in `sys.argv`.
    #[serde(default)]
    arguments: Vec<String>,
    /// What it reads.
    stdin: Option<String>,
    /// `NAME=value` each.
    #[serde(default)]
    environment: Assignments,
    /// Secrets that it finds in its environment, by name.
    #[serde(default)]
    secrets: Vec<SecretName>,
    /// Default none; `registry` reaches package indexes.
    network: Option<NetworkAsked>,
    /// Relative to the workspace.
    directory: Option<PathBuf>,
    /// How long it may run.
    timeout_ms: Option<u64>,
    /// How long this call waits for it. Default 50000.
    wait_ms: Option<u64>,
    /// A run to wait for, instead of a new one.
    run: Option<RunId>,
    /// With `run`: only output after this event.
    after: Option<u64>,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for ExecuteCode {
    const NAME: &'static str = "execute_code";
    const COMMAND: Option<&'static str> = Some("exec code");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const REACHES_OUT: bool = true;
    const ROUTE: Route = Route::post("/v1/exec/execute_code");
    const ALSO: &'static [Route] = &[
        Route::post("/v1/repos/{repo}/branches/{branch}/execute_code"),
        Route::post("/v1/workspaces/{workspace}/execute_code"),
    ];
    type Input = ExecuteCodeInput;
    type Output = ExecutionView;

    async fn call(context: Context<'_>, input: ExecuteCodeInput) -> Result<ExecutionView> {
        let options = ExecOptions {
            context: input.context,
            arguments: input.arguments,
            stdin: input.stdin,
            directory: input.directory,
            timeout: input.timeout_ms.map(Duration::from_millis),
            network: input.network.map(Into::into),
            auto_install: input.auto_install,
            secrets: input.secrets,
            environment: input.environment.0,
        };
        let waiting = Waiting {
            run: input.run,
            after: input.after,
            wait: input.wait_ms.map(Duration::from_millis),
        };
        let place = place(input.workspace, input.repo, input.branch);
        let request = CodeRequest {
            place,
            code: input.code,
            filename: input.filename,
            options,
        };
        let exec = &context.services.exec;
        let answer = exec
            .execute_code(context.caller, request, waiting, context.progress)
            .await?;
        Ok(answer.into())
    }
}
