//! `append_to_code_file`: a code file grows.

use agentyard_model::{Permission, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::code_file_view::CodeFileView;
use super::{PATH_ALIASES, place};
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct AppendToCodeFile;

/// Add to the end of a code file, on a line of its own: for code too long for one call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AppendToCodeFileInput {
    /// File in the workspace; `.py` is added to a bare name.
    path: String,
    /// What to add.
    content: String,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for AppendToCodeFile {
    const NAME: &'static str = "append_to_code_file";
    const COMMAND: Option<&'static str> = Some("code append");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/exec/append_to_code_file");
    const ALSO: &'static [Route] = &[
        Route::post("/v1/repos/{repo}/branches/{branch}/append_to_code_file"),
        Route::post("/v1/workspaces/{workspace}/append_to_code_file"),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = PATH_ALIASES;
    type Input = AppendToCodeFileInput;
    type Output = CodeFileView;

    async fn call(context: Context<'_>, input: AppendToCodeFileInput) -> Result<CodeFileView> {
        let place = place(input.workspace, input.repo, input.branch);
        let files = &context.services.code_files;
        let written = files
            .append(
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
