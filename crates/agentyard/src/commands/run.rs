//! Runs an operation that was typed: on this machine, or on a server.

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::time::Duration;

use agentyard_gateway::RemoteServer;
use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Progress, Reply, Selection, Step};
use agentyard_sandbox::namespace::Presence;
use agentyard_services::{ErrorKind, Result, WorkingDirectories};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::operation::{Typed, path_argument};
use crate::config::{Config, Loaded};
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::telemetry::Face as TelemetryFace;
use crate::{render, runtime};

/// How long a call may take before a person is shown that it goes on.
const UNNOTICED: Duration = Duration::from_millis(300);

/// Runs it.
pub(crate) fn run(setting: &Setting, typed: Result<Typed>) -> std::result::Result<ExitCode, Failure> {
    let caller = Caller::local();
    let typed = typed.map_err(|error| Failure::service(&error, &caller.request_id))?;
    let json = setting.global.json;
    match setting.server()? {
        Some(address) => {
            let runtime = runtime::one_thread()?;
            let server = RemoteServer::new(&address, setting.token()?)?;
            let answer = runtime.block_on(server.call(typed.operation, typed.arguments))?;
            show_remote(&answer, json)
        }
        None => {
            let config = setting.config(Vec::new())?;
            let presence =
                namespace::is_of_use_to_command(&typed, &config).then(|| namespace::enter(&config));
            let runtime = runtime::one_thread()?;
            let reply = runtime.block_on(here(setting, &config, presence, typed, &caller))?;
            show(reply, json)
        }
    }
    .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

async fn here(
    setting: &Setting,
    config: &Loaded<Config>,
    presence: Option<Presence>,
    mut typed: Typed,
    caller: &Caller,
) -> std::result::Result<Reply, Failure> {
    let _telemetry = setting.start_telemetry(config, TelemetryFace::Command)?;
    if let Some(presence) = &presence {
        namespace::log(presence);
    }
    let directory = platform::current_directory()?;
    if let Some(name) = path_argument(typed.operation.entry())
        && let Some(Value::String(path)) = typed.arguments.get_mut(name)
        && path != "."
        && (name == "path" || path.starts_with('.'))
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
    let (progress, steps) = Progress::watched();
    let context = Context {
        services: &platform.services,
        caller,
        progress: &progress,
    };
    let call = typed
        .operation
        .call(context, typed.arguments, platform.presentation, Face::CommandLine);
    let reply = tokio::select! {
        reply = call => reply,
        () = show_progress(steps, typed.operation.entry().name) => unreachable!("showing progress never ends"),
        _ = tokio::signal::ctrl_c() => return Err(Failure::new(ErrorKind::Unavailable, "interrupted")),
    };
    store.close().await;
    reply.map_err(|error| Failure::service(&error, &caller.request_id))
}

/// Shows a person at a terminal that long work goes on; never ends by itself.
async fn show_progress(mut steps: watch::Receiver<Step>, name: &str) {
    if stderr().is_terminal() {
        tokio::time::sleep(UNNOTICED).await;
        let bar = ProgressBar::new_spinner();
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        while steps.changed().await.is_ok() {
            let step = steps.borrow_and_update().clone();
            if let Some(total) = step.total {
                bar.set_length(total);
                if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
                    bar.set_style(style);
                }
            }
            bar.set_position(step.done);
            bar.set_message(step.message);
        }
    }
    std::future::pending::<()>().await;
}

fn show(reply: Reply, json: bool) -> std::io::Result<()> {
    match reply {
        Reply::Structured { value, .. } => render::answer(&value, json),
        Reply::Text { text, next } if json => {
            render::answer(&json!({ "text": text, "next_cursor": next }), true)
        }
        Reply::Text { text, .. } => render::text(&text),
    }
}

fn show_remote(answer: &Value, json: bool) -> std::io::Result<()> {
    match answer["text"].as_str() {
        Some(text) if !json => render::text(text),
        _ => render::answer(answer, json),
    }
}
