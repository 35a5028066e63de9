//! `agentyard serve`: the server.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentyard_gateway::HttpServer;
use agentyard_gateway::edge::AuthMode;
use agentyard_model::Clock;
use agentyard_services::{ErrorKind, Services, WorkingDirectories};
use agentyard_store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::ServeArgs;
use crate::config::{Config, Loaded, Override};
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::runtime;
use crate::sandboxing;
use crate::telemetry::{Face, Telemetry};

/// What the administrator's first token is called.
const FIRST_TOKEN: &str = "first-administrator";

/// How long workspaces and records are left alone between two looks at them.
const TENDING: Duration = Duration::from_secs(60);

/// Serves until a signal says to stop.
pub(crate) fn serve(setting: &Setting, arguments: &ServeArgs) -> Result<ExitCode, Failure> {
    let config = setting.config(flags(setting, arguments)?)?;
    namespace::enter(setting, &config);
    let runtime = runtime::all_threads()?;
    let telemetry = setting.start_telemetry(&config, Face::Server)?;
    namespace::log(setting);
    sandboxing::warn_of_host(&setting.environment, &config.settings);
    runtime.block_on(run(setting, &config, arguments, &telemetry))?;
    telemetry.shutdown();
    Ok(ExitCode::SUCCESS)
}

async fn run(
    setting: &Setting,
    config: &Loaded<Config>,
    arguments: &ServeArgs,
    telemetry: &Telemetry,
) -> Result<(), Failure> {
    let settings = &config.settings;
    let unusable = |error| Failure::new(ErrorKind::InvalidInput, error);
    settings.http.check().map_err(unusable)?;
    settings.auth.check(settings.http.listen).map_err(unusable)?;
    let store = platform::store(config)?;
    store.open().await.map_err(|error| {
        Failure::new(ErrorKind::Unavailable, platform::with_causes(&error))
            .hint("`agentyard doctor` looks at the database and the data directory")
    })?;
    let listen = settings.http.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::new(
            ErrorKind::Unavailable,
            format!("cannot listen on {listen}: {error}"),
        )
        .hint("stop what listens there, or choose another address with --listen")
    })?;
    let address = listener.local_addr().unwrap_or(listen);
    greet(&store, config, &address.to_string()).await?;
    let platform = platform::platform(
        setting,
        platform::Behalf::Nobody,
        config,
        &store,
        platform::opened(settings.git.roots.clone())?,
        WorkingDirectories::Stored(store.clone()),
        platform::selection(settings)?,
    )?;
    let services = Arc::clone(&platform.services);
    let readiness_store = store.clone();
    let server = HttpServer {
        platform,
        http: settings.http.clone(),
        auth: settings.auth.clone(),
        clock: Clock::System,
        readiness: Arc::new(move || {
            let store = readiness_store.clone();
            Box::pin(async move { store.ping().await.map_err(|error| error.to_string()) })
        }),
        metrics: Arc::new(telemetry.metrics_renderer()),
        conformance_fixtures: arguments.conformance_fixtures,
    };
    let stop = CancellationToken::new();
    end_on_signal(stop.clone())?;
    let tended = services.clone();
    let tending = tokio::spawn(async move { tokio::join!(tended.warm_up(), tend(tended.clone())) });
    server.serve(listener, stop).await.map_err(unusable)?;
    tending.abort();
    services.end().await;
    store.close().await;
    Ok(())
}

/// Finishes what a crash has left half done, and closes what nobody uses any more: now, and then again and again.
async fn tend(services: Arc<Services>) {
    if let Err(error) = services.repos.recover().await {
        tracing::warn!(error = %error.chain(), "removed repositories could not be tidied up");
    }
    services.executions.send();
    loop {
        services.sandboxes.tend().await;
        services.workspaces.tend().await;
        services.executions.tend().await;
        tokio::time::sleep(TENDING).await;
    }
}

/// Says where the server is and, the first time, how to get in. This goes to standard
/// output, not to the log: the token is for whoever started the server, and once.
async fn greet(store: &Store, config: &Loaded<Config>, address: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut lines = Vec::new();
    if config.settings.auth.mode == AuthMode::Token {
        let name = FIRST_TOKEN
            .parse()
            .map_err(|error| Failure::new(ErrorKind::Internal, error))?;
        let first = store.tokens().bootstrap_administrator(name).await;
        let first = first.map_err(|error| Failure::new(ErrorKind::Unavailable, error))?;
        if let Some((_, secret)) = first {
            lines.push("The first administrator's token, shown this once:".to_owned());
            lines.push(format!("  {}", secret.expose()));
            lines.push(format!(
                "  export AGENTYARD_URL=http://{address} AGENTYARD_TOKEN=<the token>"
            ));
        }
    }
    lines.push(format!(
        "Agentyard listens on http://{address} (MCP: /mcp, REST: /api)"
    ));
    for line in lines {
        writeln!(out, "{line}").map_err(Failure::output)?;
    }
    out.flush().map_err(Failure::output)
}

/// Ends with the first signal that asks for it, at once with the second.
pub(crate) fn end_on_signal(stop: CancellationToken) -> Result<(), Failure> {
    let unheard = |error| {
        Failure::new(
            ErrorKind::Internal,
            format!("signals cannot be received: {error}"),
        )
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(unheard)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.cancel();
        // Whoever asks twice does not want to wait.
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(())
}

fn flags(setting: &Setting, arguments: &ServeArgs) -> Result<Vec<Override>, Failure> {
    let mut flags = platform::selection_flags(&arguments.selection);
    if let Some(listen) = &arguments.listen {
        flags.push(Override::new("http.listen", listen, "--listen"));
    }
    if let Some(auth) = &arguments.auth {
        flags.push(Override::new("auth.mode", auth, "--auth"));
    }
    if !setting.global.roots.is_empty() {
        let mut roots = Vec::new();
        for root in &setting.global.roots {
            roots.push(platform::absolute(root)?.to_string_lossy().into_owned());
        }
        flags.push(Override::new("git.roots", roots.join(","), "--root"));
    }
    Ok(flags)
}
