//! `cargo xtask clients`: programs that other people wrote, connected to the product.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::args::Args;
use crate::failure::{Attempt, Failure, Result};
use crate::process::{cargo, output, run, without_settings};
use crate::python::Environment;
use crate::served::Served;
use crate::supervised::Scratch;
use crate::{npm, setup, workspace};

/// Pinned, so that a failure is ours; raise them by hand and run this verb.
const COMMAND_LINE_CLIENTS: &[&str] = &["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.166.0"];
const PYTHON_CLIENTS: &[&str] = &["mcp==2.3.0", "fastmcp==4.1.2"];

/// A file that `git_status` must name in the repository under test.
const UNTRACKED: &str = "untracked.txt";

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    setup::ensure(setup::TO_MEET_OTHERS)?;
    let programs = workspace::target_dir()?.join("clients");
    npm::install(&programs.join("npm"), COMMAND_LINE_CLIENTS)?;
    let python = Environment::install(&programs.join("python"), PYTHON_CLIENTS)?;
    run(cargo().args(["build", "--package", "agentyard"]))?;

    let scratch = Scratch::new("clients", None)?;
    let yard = Yard::new(&scratch, workspace::debug_binary()?)?;
    let served = Served::start(&yard.binary, &yard.serve_options())?;
    let token = yard.token(&served)?;
    let clients = Clients {
        scratch: &scratch,
        bin: programs.join("npm/node_modules/.bin"),
        yard: &yard,
    };

    let checks: [(&str, Result); 5] = [
        ("Claude Code, stdio", clients.claude_over_stdio()),
        ("Claude Code, HTTP", clients.claude_over_http(&served, &token)),
        ("Codex, stdio", clients.codex()),
        ("Python clients, stdio", yard.python_over_stdio(&python)),
        (
            "Python clients, HTTP",
            yard.python_over_http(&python, &served, &token),
        ),
    ];
    summarise(&checks, &served)
}

fn summarise(checks: &[(&str, Result)], served: &Served) -> Result {
    println!("\n==> summary");
    let mut failed = 0;
    for (name, outcome) in checks {
        match outcome {
            Ok(()) => println!("  {name:<24} passed"),
            Err(failure) => {
                println!("  {name:<24} FAILED\n{failure}");
                failed += 1;
            }
        }
    }
    if failed == 0 {
        return Ok(());
    }
    println!("--- the server's log ends with:\n{}", served.log());
    Err(Failure::new(format!(
        "{failed} of {} clients failed",
        checks.len()
    )))
}

/// The product under test, and a repository to look at with it.
struct Yard {
    binary: PathBuf,
    repository: PathBuf,
    data_dir: PathBuf,
}

impl Yard {
    fn new(scratch: &Scratch, binary: PathBuf) -> Result<Self> {
        let repository = scratch.path().join("repository");
        output(
            Command::new("git")
                .args(["init", "--quiet", "--initial-branch=main"])
                .arg(&repository),
        )?;
        std::fs::write(repository.join(UNTRACKED), "new\n").attempt("write a file")?;
        Ok(Self {
            binary,
            repository,
            data_dir: scratch.path().join("data"),
        })
    }

    /// `agentyard mcp`, confined to the repository.
    fn stdio_command(&self) -> Vec<OsString> {
        let binary = self.binary.clone().into();
        let root = self.repository.clone().into();
        vec![
            binary,
            "mcp".into(),
            "--root".into(),
            root,
            "--data-dir".into(),
            self.data_dir.clone().into(),
        ]
    }

    fn serve_options(&self) -> Vec<OsString> {
        vec![
            "--auth".into(),
            "token".into(),
            "--root".into(),
            self.repository.clone().into(),
        ]
    }

    /// A token made where the server keeps its data, as an administrator would on that machine.
    fn token(&self, served: &Served) -> Result<String> {
        let said = output(
            without_settings(&mut Command::new(&self.binary))
                .args(["token", "create", "clients", "--json", "--data-dir"])
                .arg(served.data_dir()),
        )?;
        let made: Value = serde_json::from_str(&said).attempt("read the token that was made")?;
        match made["secret"].as_str() {
            Some(secret) => Ok(secret.to_owned()),
            None => Err(Failure::new("`agentyard token create --json` shows no `secret`")),
        }
    }

    fn python_over_stdio(&self, python: &Environment) -> Result {
        run(self.python_check(python).arg("stdio").args(self.stdio_command()))
    }

    fn python_over_http(&self, python: &Environment, served: &Served, token: &str) -> Result {
        run(self
            .python_check(python)
            .args(["http", &served.url("/mcp")])
            .env("AGENTYARD_TOKEN", token))
    }

    fn python_check(&self, python: &Environment) -> Command {
        let mut command = Command::new(python.python());
        without_settings(&mut command)
            .arg(workspace::root().join("xtask/src/clients/check.py"))
            .arg("--repository")
            .arg(&self.repository)
            .args(["--expect", UNTRACKED]);
        command
    }
}

/// Command-line clients, each with a home of its own so that nobody's settings count or change.
struct Clients<'a> {
    scratch: &'a Scratch,
    bin: PathBuf,
    yard: &'a Yard,
}

impl Clients<'_> {
    fn claude_over_stdio(&self) -> Result {
        let home = self.home("claude-stdio")?;
        let add = ["mcp", "add", "agentyard", "--"].map(OsString::from);
        output(
            self.client("claude", &home)
                .args(add)
                .args(self.yard.stdio_command()),
        )?;
        self.claude_is_connected(&home)
    }

    fn claude_over_http(&self, served: &Served, token: &str) -> Result {
        let home = self.home("claude-http")?;
        output(
            self.client("claude", &home)
                .args([
                    "mcp",
                    "add",
                    "--transport",
                    "http",
                    "agentyard",
                    &served.url("/mcp"),
                ])
                .args(["--header", &format!("Authorization: Bearer {token}")]),
        )?;
        self.claude_is_connected(&home)
    }

    /// `claude mcp list` connects to each server and says how that went.
    fn claude_is_connected(&self, home: &Path) -> Result {
        let said = output(self.client("claude", home).args(["mcp", "list"]))?;
        let is_connected = |line: &str| line.starts_with("agentyard:") && line.ends_with("Connected");
        if said.lines().any(is_connected) {
            return Ok(());
        }
        Err(Failure::new(format!(
            "`claude mcp list` does not show it connected:\n{said}"
        )))
    }

    /// Codex connects only in a session with a model; what can be shown is that it takes our entry.
    fn codex(&self) -> Result {
        let home = self.home("codex")?;
        let add = ["mcp", "add", "agentyard", "--"].map(OsString::from);
        output(
            self.client("codex", &home)
                .args(add)
                .args(self.yard.stdio_command()),
        )?;
        let said = output(self.client("codex", &home).args(["mcp", "list", "--json"]))?;
        let listed: Value = serde_json::from_str(&said).attempt("read what `codex mcp list` printed")?;
        let entry = &listed[0];
        if entry["name"] == "agentyard" && entry["enabled"] == true {
            return Ok(());
        }
        Err(Failure::new(format!(
            "`codex mcp list` does not show it enabled:\n{said}"
        )))
    }

    fn client(&self, program: &str, home: &Path) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .current_dir(home);
        command
    }

    fn home(&self, name: &str) -> Result<PathBuf> {
        let home = self.scratch.path().join(name);
        std::fs::create_dir(&home).attempt("make a home for the client")?;
        Ok(home)
    }
}
