//! `agentyard mcp`: MCP over stdio, here or as a bridge to a server.

use std::process::ExitCode;
use std::sync::Arc;

use agentyard_gateway::{McpServer, bridge, serve_stdio};
use agentyard_model::Caller;
use agentyard_services::{ErrorKind, WorkingDirectories};
use tokio_util::sync::CancellationToken;

use super::serve::end_on_signal;
use crate::cli::SelectionArgs;
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::runtime;
use crate::sandboxing;
use crate::telemetry::Face;

/// Serves the agent that started this process until it closes its side.
pub(crate) fn serve(setting: &Setting, selection: &SelectionArgs) -> Result<ExitCode, Failure> {
    let config = setting.config(platform::selection_flags(selection))?;
    let server = setting.server()?;
    let selection = platform::selection(&config.settings)?;
    if server.is_none() && namespace::is_of_use_to(&selection) {
        namespace::enter(setting, &config);
    }
    let runtime = runtime::one_thread()?;
    let _telemetry = setting.start_telemetry(&config, Face::Stdio)?;
    namespace::log(setting);
    if let Some(address) = server {
        let token = setting.token()?;
        runtime
            .block_on(bridge(tokio::io::stdin(), tokio::io::stdout(), &address, token))
            .map_err(|error| Failure::new(ErrorKind::InvalidInput, error))?;
        runtime.shutdown_background();
        return Ok(ExitCode::SUCCESS);
    }
    let store = platform::store_if_needed(&config);
    let platform = platform::platform(
        setting,
        platform::Behalf::Person,
        &config,
        &store,
        setting.own_roots()?,
        WorkingDirectories::of_process(platform::current_directory()?),
        selection,
    )?;
    sandboxing::warn_of_host(&setting.environment, &config.settings);
    let services = Arc::clone(&platform.services);
    let server = McpServer::for_process(platform, Caller::local());
    runtime.block_on(async {
        let ended = CancellationToken::new();
        end_on_signal(ended.clone())?;
        let served = serve_stdio(server, ended).await;
        services.end().await;
        store.close().await;
        served.map_err(|error| Failure::new(ErrorKind::InvalidInput, error))
    })?;
    // A thread may wait in a read of a terminal; it must not hold the process.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
