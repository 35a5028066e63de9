//! The client's own command, for people who would rather have it do the writing.

use serde_json::{Map, Value, json};

use super::entry::reference;
use super::launch::Launch;
use super::{Client, NAME, Scope};

/// The command of a client that installs us in this scope, if it has one.
pub(crate) fn of(client: Client, scope: Scope, launch: &Launch) -> Option<String> {
    let scope_name = match scope {
        Scope::User => "user",
        Scope::Project => "project",
    };
    let mut words: Vec<String> = Vec::new();
    let mut add = |text: &[&str]| words.extend(text.iter().map(|word| (*word).to_owned()));
    match (client, scope) {
        (Client::ClaudeCode, _) => add(&["claude", "mcp", "add", "--scope", scope_name]),
        (Client::Gemini, _) => add(&["gemini", "mcp", "add", "--scope", scope_name]),
        (Client::Codex, Scope::User) => add(&["codex", "mcp", "add", NAME]),
        (Client::Vscode, Scope::User) => {
            return Some(format!("code --add-mcp {}", quoted(&vscode_server(launch)?)));
        }
        (Client::Codex | Client::Vscode, Scope::Project) | (Client::Cursor, _) => return None,
    }
    match (client, launch) {
        (Client::Codex, Launch::Http { endpoint, token, .. }) => {
            add(&["--url", endpoint, "--bearer-token-env-var", &token.to_string()]);
        }
        (_, Launch::Http { endpoint, token, .. }) => {
            let header = format!("Authorization: Bearer {}", reference(client, token));
            add(&["--transport", "http", NAME, endpoint, "--header", &header]);
        }
        (_, Launch::Local { .. } | Launch::Bridge { .. }) => {
            let (program, arguments) = launch.program()?;
            match client {
                Client::Gemini => add(&[NAME, program]),
                Client::Codex => add(&["--", program]),
                _ => add(&[NAME, "--", program]),
            }
            words.extend(arguments);
        }
    }
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    Some(words.join(" "))
}

/// What `code --add-mcp` is given: the entry with its name in it.
fn vscode_server(launch: &Launch) -> Option<String> {
    let (program, arguments) = launch.program()?;
    let mut server = Map::new();
    server.insert("name".to_owned(), json!(NAME));
    server.insert("command".to_owned(), json!(program));
    server.insert("args".to_owned(), json!(arguments));
    if let Launch::Bridge { token, .. } = launch {
        let variable = reference(Client::Vscode, token);
        server.insert("env".to_owned(), json!({ super::VariableName::USUAL: variable }));
    }
    Some(Value::Object(server).to_string())
}

/// A word as a shell takes it back.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
