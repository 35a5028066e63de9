//! `configure_environment`: in which environment code of a place runs.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{ConfigureEnvironment as Request, EnvironmentKind, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::environment_view::EnvironmentConfigView;
use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct ConfigureEnvironment;

/// Choose the environment that code of the workspace runs in. It is made when first used; those chosen before stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigureEnvironmentInput {
    /// Made by Python itself, by uv, or by conda.
    r#type: EnvironmentType,
    /// With conda: an environment by its name.
    conda_name: Option<String>,
    /// With venv: one of the operator's instead of the workspace's own.
    venv_path: Option<PathBuf>,
    /// The same with venv-uv.
    uv_venv_path: Option<PathBuf>,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum EnvironmentType {
    Venv,
    VenvUv,
    Conda,
}

impl Operation for ConfigureEnvironment {
    const NAME: &'static str = "configure_environment";
    const COMMAND: Option<&'static str> = Some("exec configure");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::AgentRun);
    const ROUTE: Route = Route::put("/v1/exec/configure_environment");
    const ALSO: &'static [Route] = &[
        Route::put("/v1/repos/{repo}/branches/{branch}/configure_environment"),
        Route::put("/v1/workspaces/{workspace}/configure_environment"),
    ];
    type Input = ConfigureEnvironmentInput;
    type Output = EnvironmentConfigView;

    async fn call(context: Context<'_>, input: ConfigureEnvironmentInput) -> Result<EnvironmentConfigView> {
        let (kind, path) = match input.r#type {
            EnvironmentType::Venv => (EnvironmentKind::Venv, input.venv_path),
            EnvironmentType::VenvUv => (EnvironmentKind::VenvUv, input.uv_venv_path.or(input.venv_path)),
            EnvironmentType::Conda => (EnvironmentKind::Conda, None),
        };
        let request = Request {
            place: place(input.workspace, input.repo, input.branch),
            kind: Some(kind),
            conda_name: input.conda_name,
            path,
        };
        let environments = &context.services.environments;
        Ok(environments.configure(context.caller, request).await?.into())
    }
}
