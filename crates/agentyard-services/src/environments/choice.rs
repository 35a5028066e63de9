//! Which environment a place has: what the settings say, unless somebody chose another one there.

use std::path::{Component, Path, PathBuf};

use agentyard_model::{AuditEvent, Caller, Outcome, Permission, TenantId};
use serde::{Deserialize, Serialize};

use super::describing::EnvironmentView;
use super::files_on_disk::{private_directory, write_whole};
use super::kind::EnvironmentKind;
use super::target::{Owner, Target};
use super::{EnvironmentSettings, Environments};
use crate::error::{Error, ErrorKind, Result};
use crate::places::{Place, WORKSPACE};
use crate::progress::Progress;

/// Which environment a place is to have.
#[derive(Debug, Clone, Default)]
pub struct ConfigureEnvironment {
    /// Which place.
    pub place: Place,
    /// What kind of environment.
    pub kind: Option<EnvironmentKind>,
    /// For conda, which of several.
    pub conda_name: Option<String>,
    /// Where it is: a directory in the tree, or one that the settings name.
    pub path: Option<PathBuf>,
}

/// What was chosen for a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Choice {
    kind: EnvironmentKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conda_name: Option<String>,
    /// Below the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<PathBuf>,
}

/// Where a choice is kept, beside the environments of the place.
const NAME: &str = "choice.json";

/// The longest name of a conda environment.
const MAX_NAME: usize = 60;

impl Environments {
    /// Chooses which environment a place has from now on. Nothing is made yet.
    ///
    /// # Errors
    /// When the caller may not run anything, or such an environment cannot be had here.
    pub async fn configure(&self, caller: &Caller, request: ConfigureEnvironment) -> Result<EnvironmentView> {
        caller.require(Permission::AgentRun)?;
        let owner = self.owner(caller, &request.place, &Progress::ignored()).await?;
        let place = owner.place.clone();
        let chosen = owner.clone();
        self.blocking("choosing an environment", move |environments| {
            let choice = environments.chosen(&chosen, &request)?;
            if let Some(missing) = environments.missing(choice.kind) {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!(
                        "there can be no `{}` environment here: {}",
                        choice.kind, missing.reason
                    ),
                )
                .hint(missing.remedy));
            }
            // Whether it is there at all, and where: said here rather than by the first run.
            environments.target_of(&chosen, Some(&choice))?;
            environments.remember(&chosen, &choice)
        })
        .await?;
        let event = AuditEvent::with_outcome(caller, "configure_environment", place, Outcome::Done);
        self.0.audit.record_soon(event).await;
        self.describe_owner(owner).await
    }

    /// The environment that a place has.
    pub(super) fn target(&self, owner: &Owner) -> Result<Target> {
        let choice = std::fs::read(self.directory().join(&owner.place).join(NAME)).ok();
        let choice = choice.and_then(|text| serde_json::from_slice::<Choice>(&text).ok());
        self.target_of(owner, choice.as_ref())
    }

    fn target_of(&self, owner: &Owner, choice: Option<&Choice>) -> Result<Target> {
        let (settings, directory) = (&self.0.settings, self.directory());
        let kind = choice.map_or(settings.kind, |choice| choice.kind);
        if let Some(below) = choice.and_then(|choice| choice.below.as_deref()) {
            return owner.in_tree(&directory, kind, below);
        }
        let conda_name = choice.and_then(|choice| choice.conda_name.as_deref());
        let of_machine = match kind {
            EnvironmentKind::Venv => settings.venv_path.clone(),
            EnvironmentKind::VenvUv => settings.uv_venv_path.clone(),
            EnvironmentKind::Conda => match &settings.conda_env_name {
                Some(name) if conda_name.is_none_or(|wanted| wanted == name) => {
                    Some(self.machines_conda(name)?)
                }
                _ => None,
            },
        };
        // Tenants share nothing that one of them can change.
        match of_machine.filter(|_| owner.tenant == TenantId::LOCAL) {
            Some(path) => Ok(owner.on_machine(&directory, kind, &path)),
            None => Ok(owner.ours(&directory, kind, conda_name)),
        }
    }

    fn machines_conda(&self, name: &str) -> Result<PathBuf> {
        self.0.settings.machine.conda_environment(name).ok_or_else(|| {
            Error::not_found(format!(
                "there is no conda environment `{}` on this machine",
                name.escape_debug()
            ))
            .hint("`conda env list` shows those that are there; the name is set by `exec.conda_env_name`")
        })
    }

    /// What a request means for a place, when it may ask for that.
    fn chosen(&self, owner: &Owner, request: &ConfigureEnvironment) -> Result<Choice> {
        let settings = &self.0.settings;
        let named = request.path.as_deref();
        let kind = request.kind.unwrap_or_else(|| kind_for(settings, request));
        if kind != EnvironmentKind::Conda && request.conda_name.is_some() {
            return Err(Error::invalid(format!(
                "a `{kind}` environment has no conda name"
            )));
        }
        if let Some(name) = &request.conda_name {
            check_conda_name(name)?;
        }
        let of_settings = match kind {
            EnvironmentKind::Venv => settings.venv_path.as_deref(),
            EnvironmentKind::VenvUv => settings.uv_venv_path.as_deref(),
            EnvironmentKind::Conda => None,
        };
        let is_local = owner.tenant == TenantId::LOCAL;
        let below = match named {
            None => None,
            Some(path) if is_local && Some(path) == of_settings => None,
            Some(_) if kind == EnvironmentKind::Conda => {
                return Err(Error::invalid("a conda environment has a name and no path"));
            }
            Some(path) => Some(below_tree(owner, path)?),
        };
        Ok(Choice {
            kind,
            conda_name: request.conda_name.clone(),
            below,
        })
    }

    fn remember(&self, owner: &Owner, choice: &Choice) -> Result<()> {
        let directory = self.directory().join(&owner.place);
        let text = serde_json::to_vec(choice).map_err(|error| Error::internal("writing a choice", error))?;
        private_directory(&directory)
            .and_then(|()| write_whole(&directory.join(NAME), &text))
            .map_err(|error| Error::internal("remembering which environment a place has", error))
    }
}

/// The kind that is meant when only a path or a name is given.
fn kind_for(settings: &EnvironmentSettings, request: &ConfigureEnvironment) -> EnvironmentKind {
    if request.conda_name.is_some() {
        return EnvironmentKind::Conda;
    }
    match request.path.as_deref() {
        Some(path) if Some(path) == settings.venv_path.as_deref() => EnvironmentKind::Venv,
        Some(path) if Some(path) == settings.uv_venv_path.as_deref() => EnvironmentKind::VenvUv,
        Some(_) if settings.kind == EnvironmentKind::Conda => EnvironmentKind::Venv,
        _ => settings.kind,
    }
}

/// A name becomes part of a path, and an argument.
fn check_conda_name(name: &str) -> Result<()> {
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_-".contains(character));
    if is_name {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}` is no name of a conda environment: expected up to {MAX_NAME} letters, digits, `_` and `-`",
        name.escape_debug().take(100).collect::<String>()
    )))
}

/// The path below the tree that is meant: `.venv`, `/workspace/.venv`, or the whole path.
fn below_tree(owner: &Owner, path: &Path) -> Result<PathBuf> {
    let refused = || {
        Error::new(
            ErrorKind::Forbidden,
            format!(
                "the environment cannot be in `{}`: expected a directory in the tree, such as `.venv`, or the one that \
                 `exec.venv_path` or `exec.uv_venv_path` names",
                path.display().to_string().escape_debug()
            ),
        )
    };
    let tree = owner.tree.as_ref().ok_or_else(refused)?;
    let below = match path
        .strip_prefix(WORKSPACE)
        .or_else(|_| path.strip_prefix(tree.path()))
    {
        Ok(below) => below,
        Err(_) if path.is_relative() => path,
        Err(_) => return Err(refused()),
    };
    let steps: Vec<Component<'_>> = below.components().collect();
    let is_plain = steps.iter().all(|step| {
        matches!(step, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")
            && name.to_str().is_some_and(|name| !name.contains(char::is_control)))
    });
    if steps.is_empty() || !is_plain {
        return Err(refused());
    }
    Ok(below.components().collect())
}
