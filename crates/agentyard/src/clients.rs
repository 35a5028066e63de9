//! `agentyard mcp install`: making an agent's client know this server.
//!
//! What a client's file says is the person's: only our own entry is touched, everything else
//! stays as it is, to the byte where the format allows it. A token is never written: the entry
//! names the environment variable that holds it.

mod command;
mod entry;
mod error;
mod json;
mod launch;
mod places;
mod replace;
mod toml_file;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

pub(crate) use error::ClientError;
pub(crate) use launch::{Launch, ServerUrl, VariableName};
pub(crate) use places::Places;

use entry::Entry;
use replace::Replaced;

/// The name of our entry.
const NAME: &str = "agentyard";

/// A program in which agents work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// Visual Studio Code.
    Vscode,
    /// Cursor.
    Cursor,
}

impl Client {
    /// What people call it.
    fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
        }
    }

    /// The scope when none is asked for: everywhere, save in VS Code, whose own habit is a file in the project.
    fn usual_scope(self) -> Scope {
        match self {
            Self::Vscode => Scope::Project,
            Self::ClaudeCode | Self::Codex | Self::Gemini | Self::Cursor => Scope::User,
        }
    }
}

/// Where the client knows the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Everywhere this person works.
    User,
    /// In this project, for everybody who works on it.
    Project,
}

/// What is to be installed.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    client: Client,
    scope: Scope,
    launch: Launch,
    path: PathBuf,
}

impl Installation {
    /// Decides what to write where. The program is the absolute path of this one.
    pub(crate) fn new(
        client: Client,
        scope: Option<Scope>,
        server: Option<(ServerUrl, VariableName)>,
        program: &Path,
        places: &Places,
    ) -> Result<Self, ClientError> {
        let scope = scope.unwrap_or(client.usual_scope());
        // A project's file is shared, and everybody has the program somewhere else; a person's
        // own is also read by programs that do not have the shell's search path.
        let program = match scope {
            Scope::Project => NAME.to_owned(),
            Scope::User => program.to_str().ok_or(ClientError::ProgramNotUnicode)?.to_owned(),
        };
        Ok(Self {
            client,
            scope,
            launch: Launch::new(client, program, server),
            path: places.file(client, scope)?,
        })
    }

    /// What to do by hand, in words, with what to add to the file.
    pub(crate) fn instructions(&self) -> String {
        let (title, path) = (self.client.title(), self.path.display());
        let mut text =
            format!("{title} reads {path}. Add this to it, or run the same command with --write:\n\n");
        text.push_str(&self.entry().document());
        if let Some(command) = command::of(self.client, self.scope, &self.launch) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{title} can do it itself:\n\n{command}\n");
        }
        text.push_str(&self.notes());
        text
    }

    /// Puts our entry into the file, and tells what was done.
    pub(crate) fn write(&self) -> Result<String, ClientError> {
        let entry = self.entry();
        let private = self.scope == Scope::User;
        let replaced = replace::edit(&self.path, private, |text| entry.put_into(text, &self.path))?;
        let (title, path) = (self.client.title(), self.path.display());
        let done = match replaced {
            Replaced::Created => format!("{path} was made; {title} knows agentyard now.\n"),
            Replaced::Changed => format!("{path} was changed; {title} knows agentyard now.\n"),
            Replaced::Unchanged => format!("{path} has agentyard already; nothing was changed.\n"),
        };
        Ok(done + &self.notes())
    }

    fn entry(&self) -> Entry {
        Entry::new(self.client, &self.launch)
    }

    /// What else somebody should know.
    fn notes(&self) -> String {
        let mut notes = String::new();
        if let Some((url, variable)) = self.launch.server() {
            let _ = write!(
                notes,
                "\nThe token is read from the environment variable {variable} when the client connects; it is in no file.\n"
            );
            if url.is_exposed() {
                notes.push_str("The address is not https: whoever is on the way can read the token.\n");
            }
        }
        let caution = match (self.scope, self.client) {
            (Scope::User, _) | (Scope::Project, Client::Vscode | Client::Cursor) => None,
            (Scope::Project, Client::ClaudeCode) => Some("asks once before it uses what a project brings"),
            (Scope::Project, Client::Codex | Client::Gemini) => {
                Some("reads it only in projects that it trusts")
            }
        };
        if let Some(caution) = caution {
            let _ = write!(notes, "\n{} {caution}.\n", self.client.title());
        }
        notes
    }
}

#[cfg(test)]
mod tests;
