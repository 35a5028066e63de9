//! `write_file`: a file, whole.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Error, Result, WriteRequest, Written};
use base64::Engine as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct WriteFile;

/// Write a whole file of the workspace, making directories as needed. An existing file is replaced only with `expected_hash` or `overwrite`; it keeps its mode. Use edit_file to change parts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFileInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// File in it.
    path: String,
    /// All that it is to hold.
    content: String,
    /// `content` is base64, for binary files.
    #[serde(default)]
    base64: bool,
    /// Replace the file only if it has this hash.
    expected_hash: Option<String>,
    /// Replace it whatever it holds.
    #[serde(default)]
    overwrite: bool,
    /// Whether it can be executed. Default as before, or no.
    executable: Option<bool>,
}

impl Operation for WriteFile {
    const NAME: &'static str = "write_file";
    const COMMAND: Option<&'static str> = Some("file write");
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::put("/v1/build/write_file");
    const ALSO: &'static [Route] = &[
        Route::put("/v1/repos/{repo}/branches/{branch}/write_file"),
        Route::put("/v1/workspaces/{workspace}/write_file"),
    ];
    type Input = WriteFileInput;
    type Output = WrittenView;

    async fn call(context: Context<'_>, input: WriteFileInput) -> Result<WrittenView> {
        let request = WriteRequest {
            path: input.path,
            content: bytes(input.content, input.base64)?,
            expected_hash: input.expected_hash,
            overwrite: input.overwrite,
            executable: input.executable,
        };
        let place = place(input.workspace, input.repo, input.branch);
        let files = &context.services.files;
        let written = files
            .write(context.caller, &place, context.progress, request)
            .await?;
        Ok(written.into())
    }
}

fn bytes(content: String, base64: bool) -> Result<Vec<u8>> {
    if !base64 {
        return Ok(content.into_bytes());
    }
    let lines: String = content.split_whitespace().collect();
    base64::engine::general_purpose::STANDARD
        .decode(lines)
        .map_err(|error| Error::invalid(format!("`content` is not base64: {error}")))
}

/// A file that was written.
#[derive(Serialize, JsonSchema)]
pub(super) struct WrittenView {
    /// Where it is, free of links.
    path: String,
    /// `created`, `replaced`, or `unchanged` when it held this very content.
    result: &'static str,
    /// How long it is.
    size_bytes: u64,
    /// What to expect of it from now on.
    hash: String,
}

impl Output for WrittenView {}

impl From<Written> for WrittenView {
    fn from(written: Written) -> Self {
        Self {
            path: written.path,
            result: match (written.created, written.unchanged) {
                (true, _) => "created",
                (_, true) => "unchanged",
                _ => "replaced",
            },
            size_bytes: written.size,
            hash: written.hash.to_string(),
        }
    }
}
