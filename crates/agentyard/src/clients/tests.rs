mod instructions;
mod special_cases;

use std::fs;

use expect_test::{Expect, expect};

use super::*;
use crate::config::Environment;

/// A person with a home and a project.
struct Person {
    directory: tempfile::TempDir,
    places: Places,
}

impl Person {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        let environment = Environment::of(&[("HOME", home.to_str().unwrap())]);
        let places = Places::new(&environment, &directory.path().join("project"));
        Self { directory, places }
    }

    fn installation(&self, client: Client, scope: Option<Scope>, server: Option<&str>) -> Installation {
        let server = server.map(|url| (url.parse().unwrap(), VariableName::USUAL.parse().unwrap()));
        Installation::new(client, scope, server, Path::new("/opt/agentyard"), &self.places).unwrap()
    }

    /// Installs, twice, and shows every file that there is then.
    fn check(&self, client: Client, scope: Option<Scope>, server: Option<&str>, expected: &Expect) {
        let installation = self.installation(client, scope, server);
        let done = installation.write().unwrap();
        assert!(done.contains("knows agentyard now"), "{done}");
        let again = installation.write().unwrap();
        assert!(again.contains("nothing was changed"), "{again}");
        expected.assert_eq(&self.files());
    }

    fn files(&self) -> String {
        let mut text = String::new();
        let mut directories = vec![self.directory.path().to_path_buf()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let name = path
                        .strip_prefix(self.directory.path())
                        .unwrap()
                        .display()
                        .to_string();
                    text += &format!("{name}:\n{}", fs::read_to_string(&path).unwrap());
                }
            }
        }
        text
    }
}

const SERVER: Option<&str> = Some("https://yard.example");

#[test]
fn claude_code() {
    Person::new().check(
        Client::ClaudeCode,
        None,
        None,
        &expect![[r#"
            home/.claude.json:
            {
              "mcpServers": {
                "agentyard": {
                  "type": "stdio",
                  "command": "/opt/agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
    Person::new().check(
        Client::ClaudeCode,
        Some(Scope::Project),
        SERVER,
        &expect![[r#"
            project/.mcp.json:
            {
              "mcpServers": {
                "agentyard": {
                  "type": "http",
                  "url": "https://yard.example/mcp",
                  "headers": {
                    "Authorization": "Bearer ${AGENTYARD_TOKEN}"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn codex() {
    Person::new().check(
        Client::Codex,
        None,
        None,
        &expect![[r#"
            home/.codex/config.toml:
            [mcp_servers.agentyard]
            command = "/opt/agentyard"
            args = ["mcp"]
        "#]],
    );
    Person::new().check(
        Client::Codex,
        Some(Scope::Project),
        SERVER,
        &expect![[r#"
            project/.codex/config.toml:
            [mcp_servers.agentyard]
            url = "https://yard.example/mcp"
            bearer_token_env_var = "AGENTYARD_TOKEN"
        "#]],
    );
}

#[test]
fn gemini() {
    Person::new().check(
        Client::Gemini,
        None,
        None,
        &expect![[r#"
            home/.gemini/settings.json:
            {
              "mcpServers": {
                "agentyard": {
                  "command": "/opt/agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
    Person::new().check(
        Client::Gemini,
        Some(Scope::Project),
        SERVER,
        &expect![[r#"
            project/.gemini/settings.json:
            {
              "mcpServers": {
                "agentyard": {
                  "type": "http",
                  "url": "https://yard.example/mcp",
                  "headers": {
                    "Authorization": "Bearer ${AGENTYARD_TOKEN}"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn vscode() {
    Person::new().check(
        Client::Vscode,
        None,
        None,
        &expect![[r#"
            project/.vscode/mcp.json:
            {
              "servers": {
                "agentyard": {
                  "type": "stdio",
                  "command": "agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
    Person::new().check(
        Client::Vscode,
        None,
        SERVER,
        &expect![[r#"
            project/.vscode/mcp.json:
            {
              "servers": {
                "agentyard": {
                  "type": "stdio",
                  "command": "agentyard",
                  "args": [
                    "mcp",
                    "--server",
                    "https://yard.example"
                  ],
                  "env": {
                    "AGENTYARD_TOKEN": "${env:AGENTYARD_TOKEN}"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn cursor() {
    Person::new().check(
        Client::Cursor,
        None,
        None,
        &expect![[r#"
            home/.cursor/mcp.json:
            {
              "mcpServers": {
                "agentyard": {
                  "type": "stdio",
                  "command": "/opt/agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
    Person::new().check(
        Client::Cursor,
        Some(Scope::Project),
        SERVER,
        &expect![[r#"
            project/.cursor/mcp.json:
            {
              "mcpServers": {
                "agentyard": {
                  "url": "https://yard.example/mcp",
                  "headers": {
                    "Authorization": "Bearer ${env:AGENTYARD_TOKEN}"
                  }
                }
              }
            }
        "#]],
    );
}
