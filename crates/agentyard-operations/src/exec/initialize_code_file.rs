//! `initialize_code_file`: a new code file.

use agentyard_model::{Permission, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::code_file_view::CodeFileView;
use super::{PATH_ALIASES, place};
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct InitializeCodeFile;

/// Begin a code file in the workspace. One that exists with another content is left alone; use overwrite_code_file for that.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InitializeCodeFileInput {
    /// File in the workspace; `.py` is added to a bare name.
    path: String,
    /// What it begins with.
    content: String,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for InitializeCodeFile {
    const NAME: &'static str = "initialize_code_file";
    const COMMAND: Option<&'static str> = Some("code init");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::put("/v1/exec/initialize_code_file");
    const ALSO: &'static [Route] = &[
        Route::put("/v1/repos/{repo}/branches/{branch}/initialize_code_file"),
        Route::put("/v1/workspaces/{workspace}/initialize_code_file"),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = PATH_ALIASES;
    type Input = InitializeCodeFileInput;
    type Output = CodeFileView;

    async fn call(context: Context<'_>, input: InitializeCodeFileInput) -> Result<CodeFileView> {
        let place = place(input.workspace, input.repo, input.branch);
        let files = &context.services.code_files;
        let written = files
            .initialize(
                context.caller,
                &place,
                context.progress,
                &input.path,
                input.content,
            )
            .await?;
        Ok(written.into())
    }
}
