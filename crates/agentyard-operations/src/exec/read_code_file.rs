//! `read_code_file`: lines of a code file.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{ReadQuery, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{PATH_ALIASES, place};
use crate::files::{DEFAULT_LINES, FileView};
use crate::operation::{Access, Context, Effect, Operation, Route};

pub(super) struct ReadCodeFile;

/// Read a code file of the workspace. The first line has its size and line count.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadCodeFileInput {
    /// File in the workspace; `.py` is added to a bare name.
    path: String,
    /// First line. Default 1.
    offset: Option<u64>,
    /// Lines. Default 2000.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Number the lines.
    #[serde(default)]
    line_numbers: bool,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for ReadCodeFile {
    const NAME: &'static str = "read_code_file";
    const COMMAND: Option<&'static str> = Some("code read");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/exec/read_code_file");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/read_code_file"),
        Route::get("/v1/workspaces/{workspace}/read_code_file"),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = PATH_ALIASES;
    type Input = ReadCodeFileInput;
    type Output = FileView;

    async fn call(context: Context<'_>, input: ReadCodeFileInput) -> Result<FileView> {
        let place = place(input.workspace, input.repo, input.branch);
        let query = ReadQuery {
            first_line: input.offset.unwrap_or(1).max(1),
            max_lines: input.limit.unwrap_or(DEFAULT_LINES),
            ..ReadQuery::default()
        };
        let files = &context.services.code_files;
        let answer = files.read(context.caller, &place, &input.path, query).await?;
        Ok(FileView::new(answer, input.line_numbers))
    }
}
