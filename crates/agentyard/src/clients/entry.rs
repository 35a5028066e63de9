//! Our entry, in the words of each client.

use std::path::Path;

use serde_json::{Value, json};

use super::json::{self as json_file, Change};
use super::launch::{Launch, VariableName};
use super::{Client, ClientError, toml_file};

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// JSON, with servers in this member.
    Json(&'static str),
    /// TOML, with servers in this table.
    Toml(&'static str),
}

/// The members of an entry that say how the server is reached, in all clients. What an older entry says
/// about that goes; everything else in it (time limits, permissions) is the person's and stays.
const REACHING: &[&str] = &[
    "type",
    "command",
    "args",
    "url",
    "httpUrl",
    "headers",
    "bearer_token_env_var",
];

/// What Codex refuses beside an address.
const CODEX_PROGRAM_ONLY: &[&str] = &["env", "env_vars", "cwd"];

/// What Codex refuses beside a program.
const CODEX_ADDRESS_ONLY: &[&str] = &["http_headers", "env_http_headers"];

/// Our entry in a client's file.
#[derive(Debug)]
pub(crate) struct Entry {
    format: Format,
    fields: Vec<(&'static str, Value)>,
    superseded: Vec<&'static str>,
}

impl Entry {
    /// The entry that makes a client reach us in this way.
    pub(crate) fn new(client: Client, launch: &Launch) -> Self {
        let fields = fields(client, launch);
        let mut superseded: Vec<_> = REACHING
            .iter()
            .copied()
            .chain(fields.iter().map(|(name, _)| *name))
            .collect();
        if client == Client::Codex {
            let refused = match launch {
                Launch::Http { .. } => CODEX_PROGRAM_ONLY,
                Launch::Local { .. } | Launch::Bridge { .. } => CODEX_ADDRESS_ONLY,
            };
            superseded.extend(refused);
        }
        let format = match client {
            Client::ClaudeCode | Client::Gemini | Client::Cursor => Format::Json("mcpServers"),
            Client::Vscode => Format::Json("servers"),
            Client::Codex => Format::Toml("mcp_servers"),
        };
        Self {
            format,
            fields,
            superseded,
        }
    }

    /// A file with nothing but this entry.
    pub(crate) fn document(&self) -> String {
        match self.format {
            Format::Json(section) => json_file::document(&self.change(section)),
            Format::Toml(section) => toml_file::document(&self.change(section)),
        }
    }

    /// The text of a file with this entry in it.
    pub(crate) fn put_into(&self, text: &str, path: &Path) -> Result<String, ClientError> {
        match self.format {
            Format::Json(section) => json_file::put(text, &self.change(section), path),
            Format::Toml(section) => toml_file::put(text, &self.change(section), path),
        }
    }

    fn change(&self, section: &'static str) -> Change<'_> {
        Change {
            section,
            fields: &self.fields,
            superseded: &self.superseded,
        }
    }
}

/// What the entry says, in the order in which the client itself writes it.
fn fields(client: Client, launch: &Launch) -> Vec<(&'static str, Value)> {
    let mut fields = Vec::new();
    if let Some(name) = type_name(client, launch) {
        fields.push(("type", json!(name)));
    }
    if let Some((program, arguments)) = launch.program() {
        fields.push(("command", json!(program)));
        fields.push(("args", json!(arguments)));
    }
    match launch {
        Launch::Local { .. } => {}
        Launch::Bridge { token, .. } => {
            fields.push(("env", json!({ VariableName::USUAL: reference(client, token) })));
        }
        Launch::Http { endpoint, token, .. } => {
            fields.push(("url", json!(endpoint)));
            fields.push(match client {
                Client::Codex => ("bearer_token_env_var", json!(token.to_string())),
                _ => {
                    let header = format!("Bearer {}", reference(client, token));
                    ("headers", json!({ "Authorization": header }))
                }
            });
        }
    }
    fields
}

/// What the client calls the way in which it reaches the server, if it wants to be told.
fn type_name(client: Client, launch: &Launch) -> Option<&'static str> {
    let over_http = matches!(launch, Launch::Http { .. });
    match (client, over_http) {
        (Client::ClaudeCode | Client::Gemini | Client::Vscode, true) => Some("http"),
        (Client::ClaudeCode | Client::Vscode | Client::Cursor, false) => Some("stdio"),
        (Client::Cursor, true) | (Client::Gemini, false) | (Client::Codex, _) => None,
    }
}

/// How a client refers to an environment variable.
pub(crate) fn reference(client: Client, variable: &VariableName) -> String {
    match client {
        Client::ClaudeCode | Client::Gemini | Client::Codex => format!("${{{variable}}}"),
        Client::Vscode | Client::Cursor => format!("${{env:{variable}}}"),
    }
}
