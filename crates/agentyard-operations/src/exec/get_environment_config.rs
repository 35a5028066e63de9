//! `get_environment_config`: in which environment code of a place runs, and within which walls.

use agentyard_model::{Permission, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::environment_view::EnvironmentConfigView;
use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct GetEnvironmentConfig;

/// Tell in which environment code of the workspace runs: its type and Python, and the sandbox with its network and limits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetEnvironmentConfigInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for GetEnvironmentConfig {
    const NAME: &'static str = "get_environment_config";
    const COMMAND: Option<&'static str> = Some("exec environment");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/exec/get_environment_config");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/get_environment_config"),
        Route::get("/v1/workspaces/{workspace}/get_environment_config"),
    ];
    type Input = GetEnvironmentConfigInput;
    type Output = EnvironmentConfigView;

    async fn call(context: Context<'_>, input: GetEnvironmentConfigInput) -> Result<EnvironmentConfigView> {
        let place = place(input.workspace, input.repo, input.branch);
        let environments = &context.services.environments;
        Ok(environments.describe(context.caller, &place).await?.into())
    }
}
