//! `overwrite_code_file`: a code file, replaced.

use agentyard_model::{Permission, Toolset};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use super::code_file_view::CodeFileView;
use super::{PATH_ALIASES, place};
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct OverwriteCodeFile;

/// Replace the whole content of a code file, or make it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OverwriteCodeFileInput {
    /// File in the workspace; `.py` is added to a bare name.
    path: String,
    /// All that it is to hold.
    content: String,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for OverwriteCodeFile {
    const NAME: &'static str = "overwrite_code_file";
    const COMMAND: Option<&'static str> = Some("code overwrite");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::put("/v1/exec/overwrite_code_file");
    const ALSO: &'static [Route] = &[
        Route::put("/v1/repos/{repo}/branches/{branch}/overwrite_code_file"),
        Route::put("/v1/workspaces/{workspace}/overwrite_code_file"),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = PATH_ALIASES;
    type Input = OverwriteCodeFileInput;
    type Output = CodeFileView;

    async fn call(context: Context<'_>, input: OverwriteCodeFileInput) -> Result<CodeFileView> {
        let place = place(input.workspace, input.repo, input.branch);
        let files = &context.services.code_files;
        let written = files
            .overwrite(
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
