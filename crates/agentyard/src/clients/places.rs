//! Where each client keeps what it knows.

use std::path::{Path, PathBuf};

use super::{Client, ClientError, Scope};
use crate::config::Environment;

/// The directories in which clients keep their files.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    project: PathBuf,
}

impl Places {
    /// The places of this person, working on this project.
    pub(crate) fn new(environment: &Environment, project: &Path) -> Self {
        let directory = |name: &str| environment.value(name).map(PathBuf::from);
        Self {
            home: environment.home().map(Path::to_path_buf),
            config_home: environment.config_home(),
            claude: directory("CLAUDE_CONFIG_DIR"),
            codex: directory("CODEX_HOME"),
            project: project.to_path_buf(),
        }
    }

    /// The file in which a client looks for its servers.
    pub(crate) fn file(&self, client: Client, scope: Scope) -> Result<PathBuf, ClientError> {
        let project = |file: &str| Ok(self.project.join(file));
        let home = |file: &str| {
            self.home
                .as_ref()
                .map(|home| home.join(file))
                .ok_or(ClientError::NoHome)
        };
        let moved = |directory: &Option<PathBuf>, file: &str, usual: &str| match directory {
            Some(directory) => Ok(directory.join(file)),
            None => home(usual),
        };
        match (client, scope) {
            (Client::ClaudeCode, Scope::User) => moved(&self.claude, ".claude.json", ".claude.json"),
            (Client::ClaudeCode, Scope::Project) => project(".mcp.json"),
            (Client::Codex, Scope::User) => moved(&self.codex, "config.toml", ".codex/config.toml"),
            (Client::Codex, Scope::Project) => project(".codex/config.toml"),
            (Client::Gemini, Scope::User) => home(".gemini/settings.json"),
            (Client::Gemini, Scope::Project) => project(".gemini/settings.json"),
            (Client::Vscode, Scope::User) => self.vscode_profile(),
            (Client::Vscode, Scope::Project) => project(".vscode/mcp.json"),
            (Client::Cursor, Scope::User) => home(".cursor/mcp.json"),
            (Client::Cursor, Scope::Project) => project(".cursor/mcp.json"),
        }
    }

    fn vscode_profile(&self) -> Result<PathBuf, ClientError> {
        let base = if cfg!(target_os = "macos") {
            self.home
                .as_ref()
                .map(|home| home.join("Library/Application Support"))
        } else {
            self.config_home.clone()
        };
        base.map(|base| base.join("Code/User/mcp.json"))
            .ok_or(ClientError::NoHome)
    }
}
