//! The one binary: configuration, wiring, and every command.
//!
//! It alone reads the environment, the command line and configuration files, and it
//! alone prints. Everything it does is in the crates below.

// As in the gateway: a call is one future.
#![recursion_limit = "256"]

mod cli;
mod clients;
mod commands;
mod config;
mod credentials;
mod doctor;
mod environments;
mod execution_log;
mod exit;
mod leading;
mod namespace;
mod platform;
mod render;
mod runtime;
mod sandboxing;
mod standing;
mod standing_settings;
mod telemetry;
mod tethered;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::{Cli, Command, ConfigCommand, McpCommand};
use crate::commands::operation;
use crate::exit::Failure;
use crate::platform::Setting;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // git waits for the answer, and it depends on nothing that is set or logged.
    if let [_, command, action] = arguments.as_slice()
        && command == credentials::COMMAND
    {
        return credentials::answer(&action.to_string_lossy());
    }
    if arguments
        .get(1)
        .is_some_and(|command| command == tethered::COMMAND)
    {
        return tethered::run(arguments.into_iter().skip(2));
    }
    if let [_, command] = arguments.as_slice()
        && command == leading::COMMAND
    {
        return leading::run();
    }
    if let [_, command] = arguments.as_slice()
        && command == standing::COMMAND
    {
        return standing::run();
    }
    if let [_, command, directory] = arguments.as_slice()
        && command == namespace::TRIAL_COMMAND
    {
        return namespace::go_first(directory);
    }
    // Putting the commands of all operations together takes as long as all the rest of a start, and who starts a server
    // has typed none of them. What the binary's own commands do not explain, help included, is for all of them.
    let matches = Cli::command()
        .try_get_matches_from(&arguments)
        .unwrap_or_else(|_| cli::command(&arguments).get_matches_from(&arguments));
    let typed = operation::find(&matches);
    let verify = matches!(
        matches.subcommand(),
        Some(("audit", audit)) if audit.subcommand_name() == Some("verify")
    );
    let shell = commands::shell::find(&matches);
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        // What the registry has added is not a command of the binary's own; its global
        // options are read the same way.
        Err(_) if typed.is_some() || verify || shell.is_some() => Cli {
            global: cli::GlobalArgs::of(&matches),
            command: None,
        },
        Err(error) => error.exit(),
    };
    let json = cli.global.json;
    let result = Setting::read(cli.global).and_then(|setting| match (typed, cli.command) {
        (Some(typed), _) => commands::run::run(&setting, typed),
        (None, _) if verify => commands::audit::verify(&setting),
        (None, None) if let Some(typed) = shell => commands::shell::shell(&setting, typed),
        (None, Some(command)) => run(&setting, command),
        (None, None) => bare(&setting),
    });
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    }
}

fn run(setting: &Setting, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(arguments) => commands::serve::serve(setting, &arguments),
        Command::Mcp(arguments) => match arguments.command {
            None => commands::mcp::serve(setting, &arguments.selection),
            Some(McpCommand::Install(arguments)) => commands::install::install(setting, &arguments),
        },
        Command::Migrate => commands::migrate::migrate(setting),
        Command::Doctor => commands::doctor::doctor(setting),
        Command::Trust(arguments) => commands::trust::trust(setting, &arguments),
        Command::Config(ConfigCommand::Show) => commands::config::show(setting),
        Command::Config(ConfigCommand::Reference) => commands::config::reference(),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Generate { directory } => commands::generate::documents(&directory),
        Command::BenchStatus { path } => commands::bench::status(&path),
    }
}

/// Without a command: what the environment asks for, as other MCP servers do, else help.
fn bare(setting: &Setting) -> Result<ExitCode, Failure> {
    match config::transport_asked_for(&setting.environment)? {
        Some(config::Transport::Stdio) => commands::mcp::serve(setting, &cli::SelectionArgs::default()),
        Some(config::Transport::Http) => commands::serve::serve(setting, &cli::ServeArgs::default()),
        None => {
            cli::command(&[]).print_help().map_err(Failure::output)?;
            Ok(ExitCode::from(2))
        }
    }
}
