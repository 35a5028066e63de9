//! Runs an operation that was typed: on this machine, or on a server.

use std::process::ExitCode;
use std::time::Duration;

use agentyard_gateway::{LiveEvent, RemoteServer};
use agentyard_model::Caller;
use agentyard_operations::{Face, Live, Selection};
use agentyard_services::{ErrorKind, Result, WorkingDirectories, WorkspaceReference};
use futures::StreamExt;
use futures::channel::mpsc;
use serde_json::{Map, Value};

use super::operation::{Typed, path_argument};
use super::screen::Screen;
use super::typed_secrets;
use crate::config::{Config, Loaded};
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::telemetry::Face as TelemetryFace;
use crate::{render, runtime};

/// How long a call may take before a person is shown that it goes on.
const UNNOTICED: Duration = Duration::from_millis(300);

/// How much may be seen of a call before it is shown.
const SEEN_AT_ONCE: usize = 64;

/// What somebody is told who makes a sandbox without a server.
const EPHEMERAL: &str = "the sandbox ended with this command, because it lived in its process; to have one that stays, run \
                         `agentyard serve`, and say with AGENTYARD_URL and AGENTYARD_TOKEN, or --server, that commands go to it";

/// Runs it.
pub(crate) fn run(setting: &Setting, typed: Result<Typed>) -> std::result::Result<ExitCode, Failure> {
    let caller = Caller::local();
    let mut typed = typed.map_err(|error| Failure::service(&error, &caller.request_id))?;
    typed_secrets::complete(&mut typed)?;
    let json = setting.global.json;
    let mut screen = Screen::new(typed.operation.entry().name, json);
    let answer = match setting.server()? {
        Some(address) => {
            let runtime = runtime::one_thread()?;
            let server = RemoteServer::new(&address, setting.token()?)?;
            let show = |name: &str, data: &Value| screen.show(name, data);
            runtime.block_on(server.call_live(typed.operation, typed.arguments, show))?
        }
        None => {
            let config = setting.config(Vec::new())?;
            if namespace::is_of_use_to_command(&typed, &config) {
                namespace::enter(setting, &config);
            }
            let runtime = runtime::one_thread()?;
            runtime.block_on(here(setting, &config, typed, &caller, &mut screen))?
        }
    };
    match screen.end_run(&answer) {
        Some(code) => code,
        None => show(&answer, json).map(|()| ExitCode::SUCCESS),
    }
    .map_err(Failure::output)
}

async fn here(
    setting: &Setting,
    config: &Loaded<Config>,
    mut typed: Typed,
    caller: &Caller,
    screen: &mut Screen,
) -> std::result::Result<Value, Failure> {
    let _telemetry = setting.start_telemetry(config, TelemetryFace::Command)?;
    namespace::log(setting);
    let directory = platform::current_directory()?;
    if let Some(name) = path_argument(typed.operation.entry())
        && let Some(Value::String(path)) = typed.arguments.get_mut(name)
        && path != "."
        && (name == "path" || path.starts_with('.'))
        && !is_workspace(path)
    {
        *path = platform::absolute(path.as_ref())?.to_string_lossy().into_owned();
    }
    let store = platform::store_if_needed(config);
    let platform = platform::platform(
        setting,
        platform::Behalf::Person,
        config,
        &store,
        setting.own_roots()?,
        WorkingDirectories::of_process(directory),
        Selection::default(),
    )?;
    let (sender, seen) = mpsc::channel(SEEN_AT_ONCE);
    let call = typed.operation.call_live(
        &platform.services,
        caller,
        typed.arguments,
        platform.presentation,
        Face::CommandLine,
        sender,
    );
    let answer = tokio::select! {
        ((), answer) = async { tokio::join!(call, watch(seen, screen, caller)) } => answer,
        _ = tokio::signal::ctrl_c() => {
            screen.clear();
            Err(Failure::new(ErrorKind::Unavailable, "interrupted"))
        }
    };
    let ending = platform.services.sandboxes.count_running();
    platform.services.end().await;
    store.close().await;
    if ending > 0 {
        render::warning(EPHEMERAL).map_err(Failure::output)?;
    }
    answer
}

/// Shows what is seen of a call, and answers with its end.
async fn watch(
    mut seen: mpsc::Receiver<Live>,
    screen: &mut Screen,
    caller: &Caller,
) -> std::result::Result<Value, Failure> {
    let unnoticed = tokio::time::sleep(UNNOTICED);
    tokio::pin!(unnoticed);
    let mut noticed = false;
    loop {
        let live = tokio::select! {
            live = seen.next() => live,
            () = &mut unnoticed, if !noticed => {
                noticed = true;
                screen.show_that_it_goes_on();
                continue;
            }
        };
        let Some(live) = live else { break };
        if let Live::End(Err(error)) = &live {
            screen.clear();
            return Err(Failure::service(error, &caller.request_id));
        }
        let is_end = matches!(live, Live::End(_));
        let event = LiveEvent::of(live, &caller.request_id);
        if is_end {
            return Ok(event.data);
        }
        screen.show(event.name, &event.data);
    }
    Err(Failure::new(ErrorKind::Internal, "the call told no end"))
}

/// A text alone is shown as it is.
fn show(answer: &Value, json: bool) -> std::io::Result<()> {
    let has_more =
        |fields: &Map<String, Value>| fields.keys().any(|name| name != "text" && name != "next_cursor");
    match answer["text"].as_str() {
        Some(text) if !json && !answer.as_object().is_some_and(has_more) => render::text(text),
        _ => render::answer(answer, json),
    }
}

/// Whether a path stands for a workspace: `repository/branch` only where there is no such directory.
fn is_workspace(path: &str) -> bool {
    match WorkspaceReference::read(path) {
        Some(WorkspaceReference::Id(_)) => true,
        Some(WorkspaceReference::Branch { .. }) => !std::path::Path::new(path).exists(),
        None => false,
    }
}
