//! `git_remote`: which remotes there are.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{In, RemoteMode, RemoteRequest, Remotes, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

use super::working_directory::RemoteView;

pub(super) struct GitRemote;

/// List or change remotes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitRemoteInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// What to do; default `list`.
    #[serde(default)]
    mode: Mode,
    /// For every mode but `list`.
    name: Option<String>,
    /// For `add` and `set_url`; without token.
    url: Option<String>,
    /// For `rename`.
    new_name: Option<String>,
    /// `set_url`: only for pushes.
    #[serde(default)]
    push: bool,
    /// `remove`: yes, drop its settings and branches.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    #[default]
    List,
    Add,
    Remove,
    Rename,
    GetUrl,
    SetUrl,
}

impl Operation for GitRemote {
    const NAME: &'static str = "git_remote";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::post("/v1/git/remote");
    type Input = GitRemoteInput;
    type Output = RemotesView;

    async fn call(context: Context<'_>, input: GitRemoteInput) -> Result<RemotesView> {
        let request = RemoteRequest {
            mode: input.mode.into(),
            name: input.name,
            url: input.url,
            new_name: input.new_name,
            push: input.push,
            confirm: input.confirm,
        };
        let remotes = context
            .services
            .repositories
            .remote(context.caller, input.path.as_deref(), request, context.progress)
            .await?;
        Ok(remotes.into())
    }
}

impl From<Mode> for RemoteMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::List => Self::List,
            Mode::Add => Self::Add,
            Mode::Remove => Self::Remove,
            Mode::Rename => Self::Rename,
            Mode::GetUrl => Self::GetUrl,
            Mode::SetUrl => Self::SetUrl,
        }
    }
}

/// The remotes that were asked for or changed, as they are now.
#[derive(Serialize, JsonSchema)]
pub(super) struct RemotesView {
    /// The repository's directory.
    repository: String,
    /// Addresses are without user names and passwords.
    #[schemars(length(max = 1000))]
    remotes: Vec<RemoteView>,
    /// Where the remote led that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_url: Option<String>,
    /// Where its branches are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    kept: Vec<String>,
}

impl Output for RemotesView {
    fn item_count(&self) -> usize {
        self.remotes.len()
    }

    fn keep(&mut self, count: usize) {
        self.remotes.truncate(count);
    }
}

impl From<In<Remotes>> for RemotesView {
    fn from(remotes: In<Remotes>) -> Self {
        let In { repository, result } = remotes;
        let kept = result.removed.iter().flat_map(|removed| &removed.kept);
        Self {
            repository: repository.display().to_string(),
            kept: kept.map(|kept| kept.reference.clone()).take(1000).collect(),
            remotes: result.remotes.into_iter().map(RemoteView::from).collect(),
            removed_url: result.removed.map(|removed| removed.url),
        }
    }
}
