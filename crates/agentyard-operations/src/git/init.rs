//! `git_init`: new repositories.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{InitRequest, Initialized, ObjectFormat, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitInit;

/// Make a git repository, with missing directories. An existing one is left as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitInitInput {
    /// Directory: absolute, or relative to the working directory.
    path: Option<PathBuf>,
    /// Your `init.defaultBranch` or `main` by default.
    initial_branch: Option<String>,
    /// Without a working tree.
    #[serde(default)]
    bare: bool,
    /// How objects are named.
    #[serde(default)]
    object_format: ObjectFormatName,
}

/// How objects are named.
#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ObjectFormatName {
    #[default]
    Sha1,
    Sha256,
}

impl Operation for GitInit {
    const NAME: &'static str = "git_init";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectWrite);
    const ROUTE: Route = Route::put("/v1/git/repository");
    type Input = GitInitInput;
    type Output = InitView;

    async fn call(context: Context<'_>, input: GitInitInput) -> Result<InitView> {
        let request = InitRequest {
            initial_branch: input.initial_branch,
            bare: input.bare,
            object_format: match input.object_format {
                ObjectFormatName::Sha1 => ObjectFormat::Sha1,
                ObjectFormatName::Sha256 => ObjectFormat::Sha256,
            },
        };
        let repositories = &context.services.repositories;
        let made = repositories
            .init(context.caller, input.path.as_deref(), request)
            .await?;
        Ok(made.into())
    }
}

/// The repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct InitView {
    /// The repository's directory.
    repository: String,
    /// The branch that is checked out, or will be with the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// It has no working tree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    /// How objects are named.
    object_format: ObjectFormatName,
    /// It was there before, and nothing was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    existing: bool,
}

impl Output for InitView {}

impl From<Initialized> for InitView {
    fn from(made: Initialized) -> Self {
        Self {
            repository: made.path.display().to_string(),
            branch: made.branch,
            bare: made.bare,
            object_format: match made.object_format {
                ObjectFormat::Sha1 => ObjectFormatName::Sha1,
                ObjectFormat::Sha256 => ObjectFormatName::Sha256,
            },
            existing: made.existing,
        }
    }
}
