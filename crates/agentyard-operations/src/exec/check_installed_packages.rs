//! `check_installed_packages`: what the environment of a place has.

use agentyard_model::{Permission, Toolset};
use agentyard_services::{CheckedPackage, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct CheckInstalledPackages;

/// Tell which Python packages the environment of the workspace has, and in which version.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckInstalledPackagesInput {
    /// Names, with versions if these matter: ["numpy>=2"].
    packages: Vec<String>,
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
}

impl Operation for CheckInstalledPackages {
    const NAME: &'static str = "check_installed_packages";
    const COMMAND: Option<&'static str> = Some("exec check");
    const TOOLSET: Toolset = Toolset::Exec;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/exec/check_installed_packages");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/check_installed_packages"),
        Route::get("/v1/workspaces/{workspace}/check_installed_packages"),
    ];
    const WORDS: Option<&'static str> = Some("packages");
    type Input = CheckInstalledPackagesInput;
    type Output = CheckedPackagesView;

    async fn call(context: Context<'_>, input: CheckInstalledPackagesInput) -> Result<CheckedPackagesView> {
        let place = place(input.workspace, input.repo, input.branch);
        let environments = &context.services.environments;
        let checked = environments
            .check(context.caller, &place, &input.packages)
            .await?;
        Ok(CheckedPackagesView {
            packages: checked.packages.into_iter().map(Into::into).collect(),
            no_environment_yet: !checked.exists,
        })
    }
}

/// Packages that were asked for.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckedPackagesView {
    /// Each of them, in the order in which they were named.
    #[schemars(length(max = 1000))]
    packages: Vec<CheckedPackageView>,
    /// Nothing is installed because there is no environment; the first installation or execution makes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_environment_yet: bool,
}

/// A package that was asked for.
#[derive(Serialize, JsonSchema)]
struct CheckedPackageView {
    /// What it is called.
    name: String,
    /// Whether it is installed.
    installed: bool,
    /// In which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Whether that is one that was asked for, where versions were.
    #[serde(skip_serializing_if = "Option::is_none")]
    satisfied: Option<bool>,
}

impl Output for CheckedPackagesView {}

impl From<CheckedPackage> for CheckedPackageView {
    fn from(package: CheckedPackage) -> Self {
        Self {
            name: package.name,
            installed: package.version.is_some(),
            version: package.version,
            satisfied: package.satisfied,
        }
    }
}
