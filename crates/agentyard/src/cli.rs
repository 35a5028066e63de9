//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::{operation, shell};

const AFTER_HELP: &str = "\
Started in a repository, `agentyard mcp` serves an agent there over stdio: no server, no account, no configuration.
`agentyard serve` is the server for teams: MCP over HTTP, REST, and the page at http://127.0.0.1:7420/api.

Operations run on this machine, or on a server with --server URL (or AGENTYARD_URL) and AGENTYARD_TOKEN.
Exit codes: 0 done, 1 our fault, 2 invalid input, 3 not permitted, 4 not found, 5 conflict, 6 limit, 7 unavailable.";

const TRUST_HELP: &str = "\
Without trust, nothing that a repository names is run when an agent works in it; answers say what was left out.
Only a person at this machine can say so: there is no tool for it. Another repository in the same place is not trusted.";

/// A self-hosted yard for coding agents.
#[derive(Parser)]
#[command(name = "agentyard", version, after_help = AFTER_HELP, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Args, Clone, Default)]
pub(crate) struct GlobalArgs {
    /// Read this configuration file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Keep the database and all other state here
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Set any configuration key: `--set http.drain_seconds=5`
    #[arg(
        long,
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Global options"
    )]
    pub(crate) set: Vec<String>,
    /// Call a server instead of working on this machine
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub(crate) server: Option<String>,
    /// A directory that git tools may use; may be repeated
    #[arg(
        long = "root",
        global = true,
        value_name = "DIR",
        help_heading = "Global options"
    )]
    pub(crate) roots: Vec<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
}

impl GlobalArgs {
    /// The global options of a command that the registry has added.
    pub(crate) fn of(matches: &clap::ArgMatches) -> Self {
        let mut matches = matches;
        while let Some((_, inner)) = matches.subcommand() {
            matches = inner;
        }
        Self::from_arg_matches(matches).unwrap_or_default()
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve MCP over HTTP, REST and the API page
    Serve(ServeArgs),
    /// Serve MCP over stdio to the agent that starts it
    Mcp(McpArgs),
    /// Bring the database up to date
    Migrate,
    /// Say what this machine can do, and how to get the rest
    Doctor,
    /// Let a repository run its own hooks, filters and drivers
    #[command(after_help = TRUST_HELP)]
    Trust(TrustArgs),
    /// Show the configuration and where each value comes from
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the generated documents
    #[command(hide = true)]
    Generate {
        /// The root of the source tree
        #[arg(default_value = ".")]
        directory: PathBuf,
    },
    /// Time the bare work of git_status, for the benchmarks
    #[command(hide = true)]
    BenchStatus {
        /// The repository
        path: PathBuf,
    },
}

#[derive(Args, Default)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// How callers prove who they are
    #[arg(long, value_name = "MODE", value_parser = ["token", "jwt", "oauth", "none"])]
    pub(crate) auth: Option<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Add what the MCP conformance suite calls
    #[arg(long, hide = true)]
    pub(crate) conformance_fixtures: bool,
}

/// Which operations are offered.
#[derive(Args, Default)]
pub(crate) struct SelectionArgs {
    /// Offer only these toolsets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toolsets: Vec<String>,
    /// Offer only operations that change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Offer these operations beside the toolsets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Never offer these operations
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Print the configuration that connects a client, or write it with --write
    Install(InstallArgs),
}

#[derive(Args)]
pub(crate) struct InstallArgs {
    /// The client
    pub(crate) client: crate::clients::Client,
    /// Write it into the client's own file
    #[arg(long)]
    pub(crate) write: bool,
    /// For all of your projects, or for the one in this directory
    #[arg(long, value_enum)]
    pub(crate) scope: Option<crate::clients::Scope>,
    /// The environment variable from which the client takes the server's token
    #[arg(long, value_name = "NAME", default_value = "AGENTYARD_TOKEN")]
    pub(crate) token_env: String,
}

#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["directory", "list"])))]
pub(crate) struct TrustArgs {
    /// A directory of the repository
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long, requires = "directory")]
    pub(crate) revoke: bool,
    /// Show which repositories are trusted
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every key, its value and its source
    Show,
    /// Show all keys and environment variables, with what they mean
    Reference,
}

/// The whole command, with that of every operation.
pub(crate) fn command(typed: &[OsString]) -> clap::Command {
    let verify =
        clap::Command::new("verify").about("Prove that no record of the audit log was changed or removed");
    let program = operation::add_commands(Cli::command(), typed)
        .mut_subcommand("audit", |audit| audit.subcommand(verify));
    shell::add_command(program)
}
