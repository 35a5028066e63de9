//! `env`: with what a tree can be worked on.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Environment, ProjectPart, Result, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct Env;

/// What the workspace can be worked on with: programs and versions of this machine, what the project uses and asks for, its make targets and scripts, and whether commands are run here.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for Env {
    const NAME: &'static str = "env";
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/build/env");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/env"),
        Route::get("/v1/workspaces/{workspace}/env"),
    ];
    type Input = EnvInput;
    type Output = EnvView;

    async fn call(context: Context<'_>, input: EnvInput) -> Result<EnvView> {
        let place = place(input.workspace, input.repo, input.branch);
        let environment = context.services.files.environment(context.caller, &place).await?;
        Ok(environment.into())
    }
}

/// What there is to work with.
#[derive(Serialize, JsonSchema)]
pub(super) struct EnvView {
    /// Where the tree is.
    directory: String,
    /// The operating system and the processor.
    platform: String,
    /// Whether make and run_command run here.
    runs_commands: bool,
    /// What the project's files say.
    #[schemars(length(max = 50))]
    project: Vec<PartView>,
    /// Programs that are there.
    #[schemars(length(max = 50))]
    tools: Vec<ToolView>,
}

/// What one file says.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct PartView {
    file: String,
    /// What reads it.
    tool: &'static str,
    /// The version that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    requires: Option<String>,
    /// Targets or scripts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    tasks: Vec<String>,
}

/// A program.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct ToolView {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    path: String,
}

impl Output for EnvView {
    const LEVELS: &'static [LevelledField] = &[("tools.path", Level::Full)];
}

impl From<Environment> for EnvView {
    fn from(environment: Environment) -> Self {
        Self {
            directory: environment.directory.display().to_string(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            runs_commands: environment.runs_commands,
            project: environment.project.into_iter().map(PartView::from).collect(),
            tools: environment.tools.iter().map(ToolView::from).collect(),
        }
    }
}

impl From<ProjectPart> for PartView {
    fn from(part: ProjectPart) -> Self {
        Self {
            file: part.file,
            tool: part.tool,
            requires: part.requires,
            tasks: part.tasks,
        }
    }
}

impl From<&Tool> for ToolView {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name,
            version: tool.version.clone(),
            path: tool.path.display().to_string(),
        }
    }
}
