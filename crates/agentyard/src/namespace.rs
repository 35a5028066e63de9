//! Whether this process goes into the namespace of its data directory, and going there.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use agentyard_model::Toolset;
use agentyard_operations::{Registered, Selection, registry};
use agentyard_sandbox::namespace::{self, Presence, Trial};
use serde_json::{Map, Value};

use crate::commands::operation::Typed;
use crate::config::{Config, Loaded, NamespaceUse, WorkspaceSettings, WorkspaceWay};
use crate::platform::{self, Setting};

/// The hidden command of the process that goes first.
pub(crate) const TRIAL_COMMAND: &str = "namespace-trial";

/// The toolsets whose operations work in workspaces.
const TOOLSETS: &[&str] = &["build", "exec", "workspace"];

/// The arguments by which operations of other toolsets name a place to work in.
const PLACES: &[&str] = &["path", "workspace"];

/// How an id of a workspace begins.
const ID_PREFIX: &str = "wsp_";

/// Enters the namespace where that is of use. To be called before there is a second thread.
pub(crate) fn enter(setting: &Setting, config: &Loaded<Config>) {
    let entered = match (obstacle(&config.settings.workspaces), config.data_dir(), trial()) {
        (Some(reason), ..) => Presence::Outside(reason.to_owned()),
        (None, Err(error), _) => Presence::Outside(error.to_string()),
        (None, _, Err(error)) => Presence::Outside(format!("this program cannot be found: {error}")),
        (None, Ok(data_directory), Ok(trial)) => namespace::enter(data_directory, &trial),
    };
    // Once is enough: nobody leaves.
    let _ = setting.presence.set(entered);
}

/// What keeps this process from mounting views, if that is known.
pub(crate) fn obstacle_in(setting: &Setting) -> Option<&str> {
    match setting.presence.get() {
        Some(presence) => presence.obstacle(),
        None if rustix::process::geteuid().is_root() => None,
        None => Some("it was not started for workspaces; offer the toolset `workspace`"),
    }
}

/// What in the settings keeps processes outside.
pub(crate) fn obstacle(settings: &WorkspaceSettings) -> Option<&'static str> {
    match (settings.namespace, settings.way) {
        (NamespaceUse::Off, _) => Some("`workspaces.namespace` is `off`"),
        (NamespaceUse::Auto, WorkspaceWay::Reflink | WorkspaceWay::Checkout) => {
            Some("`workspaces.way` asks for no overlayfs")
        }
        (NamespaceUse::Auto, WorkspaceWay::Auto | WorkspaceWay::Overlay) => None,
    }
}

/// Whether one of the operations that are offered works in workspaces.
pub(crate) fn is_of_use_to(selection: &Selection) -> bool {
    registry()
        .iter()
        .map(Registered::entry)
        .any(|entry| works_in_workspaces(entry.toolset) && selection.offers(entry))
}

/// Whether a command that was typed works in workspaces, or in one.
pub(crate) fn is_of_use_to_command(typed: &Typed, config: &Loaded<Config>) -> bool {
    works_in_workspaces(typed.operation.entry().toolset) || is_in_a_workspace(&typed.arguments, config)
}

fn works_in_workspaces(toolset: Toolset) -> bool {
    TOOLSETS.contains(&toolset.as_str())
}

/// A workspace is named by its id, by repository and branch, or by being there.
fn is_in_a_workspace(arguments: &Map<String, Value>, config: &Loaded<Config>) -> bool {
    let named = PLACES
        .iter()
        .find_map(|name| arguments.get(*name)?.as_str())
        .unwrap_or(".");
    if named.starts_with(ID_PREFIX) {
        return true;
    }
    let Ok(trees) = config.data_dir().map(|directory| directory.join("trees")) else {
        return false;
    };
    match platform::absolute(Path::new(named)) {
        Ok(path) => path.starts_with(&trees) || !path.is_dir(),
        Err(_) => false,
    }
}

/// How a process is started that goes first.
pub(crate) fn trial() -> io::Result<Trial> {
    Ok(Trial {
        program: std::env::current_exe()?,
        argument: TRIAL_COMMAND,
    })
}

/// That process.
pub(crate) fn go_first(directory: &OsStr) -> ExitCode {
    match namespace::try_in(directory, io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Tells the log where this process stands.
pub(crate) fn log(setting: &Setting) {
    match setting.presence.get().map(Presence::obstacle) {
        None => {}
        Some(None) => tracing::debug!("views can be mounted"),
        Some(Some(reason)) => tracing::debug!(reason, "views cannot be mounted"),
    }
}
