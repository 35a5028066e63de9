//! `agentyard workspace shell`: a person's way into a workspace.
//!
//! Where views are mounted in the namespace of the data directory, a plain shell would find an empty directory in
//! their place. This one goes inside first.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentyard_model::Caller;
use agentyard_operations::Selection;
use agentyard_sandbox::namespace::become_program;
use agentyard_services::{ErrorKind, WorkingDirectories, WorkspaceReference};
use clap::{Arg, ArgMatches, Command};

use crate::config::{Config, Loaded};
use crate::exit::Failure;
use crate::platform::{self, Setting};
use crate::{namespace, runtime};

const NOUN: &str = "workspace";
const VERB: &str = "shell";

const AFTER_HELP: &str = "\
With `-- COMMAND…`, that command is run instead of your shell ($SHELL). What you do in the workspace is your own work,
as in any directory: no checkpoints are made, and no lease is taken.
Where workspaces are views in a user namespace (see `agentyard doctor`), `sudo` and other programs that become root do
not work in this shell.";

/// The default where $SHELL is not set.
const USUAL_SHELL: &str = "/bin/sh";

/// Adds the command beside those of the operations on workspaces.
pub(crate) fn add_command(program: Command) -> Command {
    let shell = Command::new(VERB)
        .about("Open a shell in a workspace, or run a command there")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("workspace")
                .required(true)
                .value_parser(clap::value_parser!(OsString))
                .help("The workspace: its id, `repo/branch`, or its directory"),
        )
        .arg(
            Arg::new("command")
                .last(true)
                .num_args(1..)
                .value_parser(clap::value_parser!(OsString))
                .help("What to run there"),
        );
    if program.find_subcommand(NOUN).is_some() {
        return program.mut_subcommand(NOUN, |group| group.subcommand(shell));
    }
    program.subcommand(
        Command::new(NOUN)
            .about("Work in working trees of repositories")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(shell),
    )
}

/// What was typed, if it was this.
pub(crate) fn find(matches: &ArgMatches) -> Option<&ArgMatches> {
    // Not by name: the binary's own commands do not know these.
    let (_, noun) = matches.subcommand().filter(|(name, _)| *name == NOUN)?;
    let (_, verb) = noun.subcommand().filter(|(name, _)| *name == VERB)?;
    Some(verb)
}

/// Becomes the shell.
pub(crate) fn shell(setting: &Setting, typed: &ArgMatches) -> Result<ExitCode, Failure> {
    if setting.server()?.is_some() {
        return Err(Failure::new(
            ErrorKind::InvalidInput,
            "a shell is opened on the machine where the workspace is",
        )
        .hint("run this there, without --server or AGENTYARD_URL"));
    }
    let config = setting.config(Vec::new())?;
    namespace::enter(setting, &config);
    let named = typed.get_one::<OsString>("workspace").map(OsString::as_os_str);
    let directory = tree_of(setting, &config, named.unwrap_or_default())?;
    let command: Vec<&OsString> = typed.get_many("command").into_iter().flatten().collect();
    let usual = setting
        .environment
        .value("SHELL")
        .unwrap_or(OsStr::new(USUAL_SHELL));
    let (program, arguments) = match command.split_first() {
        Some((program, arguments)) => (program.as_os_str(), arguments),
        None => (usual, [].as_slice()),
    };
    let error = become_program(program, arguments, &directory);
    Err(Failure::new(
        ErrorKind::NotFound,
        format!(
            "`{}` could not be started in {}: {error}",
            program.to_string_lossy().escape_debug(),
            directory.display()
        ),
    )
    .hint("name a program that exists after `--`, or set SHELL to one"))
}

/// The working tree of a workspace, or a directory in one, made accessible.
fn tree_of(setting: &Setting, config: &Loaded<Config>, named: &OsStr) -> Result<PathBuf, Failure> {
    let directory = platform::absolute(Path::new(named))?;
    let reference = named.to_str().and_then(WorkspaceReference::read);
    let reference = reference.filter(|_| !directory.is_dir());
    let store = platform::store(config)?;
    let platform = platform::platform(
        setting,
        platform::Behalf::Person,
        config,
        &store,
        platform::opened(Vec::new())?,
        WorkingDirectories::Stored(store.clone()),
        Selection::default(),
    )?;
    let caller = Caller::local();
    let workspaces = &platform.services.workspaces;
    let found = runtime::one_thread()?.block_on(async {
        let found = match &reference {
            Some(reference) => workspaces.visit(&caller, reference).await.map(Some),
            None => workspaces.visit_directory(&caller, &directory).await,
        };
        store.close().await;
        found
    });
    let found = found.map_err(|error| Failure::service(&error, &caller.request_id))?;
    let directory = found.unwrap_or(directory);
    if directory.is_dir() {
        return Ok(directory);
    }
    Err(Failure::new(
        ErrorKind::NotFound,
        format!("there is no workspace at {}", directory.display()),
    )
    .hint("`agentyard workspace list` shows which there are"))
}
