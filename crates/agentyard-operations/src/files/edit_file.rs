//! `edit_file`: texts in a file, all or none.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Edit, EditRequest, Edited, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct EditFile;

/// Replace exact texts in a file of the workspace: all edits or none, each looked for in the file as it is. LF matches CRLF where the file has that.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFileInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// File in it.
    path: String,
    /// What to replace.
    #[schemars(length(min = 1, max = 200))]
    edits: Vec<EditInput>,
    /// Edit only if the file has this hash.
    expected_hash: Option<String>,
    /// Show what would change.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct EditInput {
    /// Exact text, without line numbers.
    old: String,
    /// What comes in its place.
    new: String,
    /// How often `old` must be there (default 1); 0: replace all.
    count: Option<usize>,
}

impl Operation for EditFile {
    const NAME: &'static str = "edit_file";
    const COMMAND: Option<&'static str> = Some("file edit");
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::post("/v1/build/edit_file");
    const ALSO: &'static [Route] = &[
        Route::post("/v1/repos/{repo}/branches/{branch}/edit_file"),
        Route::post("/v1/workspaces/{workspace}/edit_file"),
    ];
    type Input = EditFileInput;
    type Output = EditedView;

    async fn call(context: Context<'_>, input: EditFileInput) -> Result<EditedView> {
        let request = EditRequest {
            path: input.path,
            edits: input.edits.into_iter().map(Edit::from).collect(),
            expected_hash: input.expected_hash,
            dry_run: input.dry_run,
        };
        let place = place(input.workspace, input.repo, input.branch);
        let files = &context.services.files;
        let edited = files
            .edit(context.caller, &place, context.progress, request)
            .await?;
        Ok(edited.into())
    }
}

impl From<EditInput> for Edit {
    fn from(edit: EditInput) -> Self {
        Self {
            old: edit.old,
            new: edit.new,
            count: edit.count.unwrap_or(1),
        }
    }
}

/// What was changed.
#[derive(Serialize, JsonSchema)]
pub(super) struct EditedView {
    /// The file, free of links.
    path: String,
    /// How many texts were replaced.
    replaced: usize,
    lines_added: u32,
    lines_removed: u32,
    /// What to expect of the file from now on.
    hash: String,
    /// The change; its beginning when it is long.
    diff: String,
    /// The diff is longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diff_cut: bool,
}

impl Output for EditedView {}

impl From<Edited> for EditedView {
    fn from(edited: Edited) -> Self {
        Self {
            path: edited.path,
            replaced: edited.replaced,
            lines_added: edited.lines_added,
            lines_removed: edited.lines_removed,
            hash: edited.hash.to_string(),
            diff: edited.diff,
            diff_cut: edited.diff_cut,
        }
    }
}
