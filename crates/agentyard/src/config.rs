//! The configuration: a tree of small structs, read once.
//!
//! Five layers, each stronger than the one before: defaults, the machine's file, the person's
//! file, environment variables, flags. Every value remembers which of them it came from. The
//! engine (everything but [`Config`] and the table of aliases) works for any tree of settings
//! that serde can read and write.

mod aliases;
mod build;
mod deserialize;
mod e2b;
mod environment;
mod error;
mod exec;
mod executions;
mod fault;
mod file;
mod keys;
mod loader;
mod nearest;
mod overrides;
mod paths;
mod reference;
mod repos;
mod sandbox;
mod schema;
mod settings;
mod show;
mod source;
mod transport;
mod tree;
mod variables;
mod workspaces;

use std::path::Path;

use agentyard_gateway::{AuthSettings, HttpSettings};
use agentyard_store::StoreSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use build::BuildSettings;
pub(crate) use e2b::E2bSettings;
pub(crate) use environment::Environment;
pub(crate) use error::ConfigError;
pub(crate) use exec::{EnvironmentType, ExecSettings};
pub(crate) use executions::{ExecutionSettings, SurrealUserLevel};
pub(crate) use loader::Loaded;
pub(crate) use overrides::Override;
pub(crate) use repos::RepoEntry;
pub(crate) use sandbox::{SandboxBackend, SandboxSettings};
pub(crate) use settings::{GitSettings, LogFormat, LogSettings, McpSettings, OutputSettings};
pub(crate) use show::to_text;
pub(crate) use transport::{Transport, asked_for as transport_asked_for};
pub(crate) use workspaces::{NamespaceUse, WorkspaceSettings, WorkspaceWay};

use loader::Layers;
use source::Source;
use tree::Table;

/// The key of the data directory.
const DATA_DIR: &str = "store.data_dir";

/// Everything that can be set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where and how `agentyard serve` listens.
    pub(crate) http: HttpSettings,
    /// How callers over HTTP prove who they are.
    pub(crate) auth: AuthSettings,
    /// Where state is kept.
    pub(crate) store: StoreSettings,
    /// Repositories, and what git may take.
    pub(crate) git: GitSettings,
    /// Repositories that workspaces can be made of without their being registered, for the local tenant: each a section
    /// `[[repos]]` with `name`, `url` or `path`, and, when it is not the remote's own choice, `default_branch`. In a
    /// variable, `name=address`.
    pub(crate) repos: Vec<RepoEntry>,
    /// Working trees of registered repositories.
    pub(crate) workspaces: WorkspaceSettings,
    /// Where commands and code run, and what they may take there.
    pub(crate) sandbox: SandboxSettings,
    /// Sandboxes that clients of E2B are given, and the service that commands run on where `sandbox.backend` is `e2b`.
    pub(crate) e2b: E2bSettings,
    /// How long commands run, and how many at once.
    pub(crate) build: BuildSettings,
    /// Python code.
    pub(crate) exec: ExecSettings,
    /// The execution log: how long it is kept, and where else it goes.
    pub(crate) executions: ExecutionSettings,
    /// What answers look like.
    pub(crate) output: OutputSettings,
    /// What is logged, and how.
    pub(crate) log: LogSettings,
    /// Which operations are offered over MCP.
    pub(crate) mcp: McpSettings,
}

/// Reads the configuration. `file` is what `--config` names.
pub(crate) fn load(
    environment: &Environment,
    file: Option<&Path>,
    overrides: &[Override],
) -> Result<Loaded<Config>, ConfigError> {
    loader::load(Layers {
        computed: &computed_defaults(environment),
        file,
        environment,
        overrides,
    })
}

impl Loaded<Config> {
    /// The data directory, for whatever needs one. It is an error only here, so that what needs
    /// no state works without a home directory.
    pub(crate) fn data_dir(&self) -> Result<&Path, ConfigError> {
        if self.sources.contains_key(DATA_DIR) {
            Ok(&self.settings.store.data_dir)
        } else {
            Err(ConfigError::NoDataDirectory)
        }
    }
}

/// The reference of all keys and variables, as Markdown.
pub(crate) fn reference_markdown() -> Result<String, ConfigError> {
    reference::markdown::<Config>(&[(
        DATA_DIR,
        "`$XDG_DATA_HOME/agentyard`, else `~/.local/share/agentyard`",
    )])
}

/// Defaults that depend on whose machine this is.
fn computed_defaults(environment: &Environment) -> Table {
    let mut table = Table::default();
    let data_dir = environment
        .data_home()
        .map(|directory| directory.join("agentyard"));
    if let Some(data_dir) = data_dir.as_deref().and_then(Path::to_str) {
        table.set(DATA_DIR, data_dir, Source::Default);
    }
    table
}

#[cfg(test)]
mod tests;
