//! `agentyard doctor`: looks at the machine and at what Agentyard has on it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use agentyard_sandbox::Enforcement;
use serde_json::json;

use crate::doctor::{Examination, Look, TriedSandbox, examine};
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::{render, runtime, sandboxing};

/// Looks, and says whether everything works that is needed.
pub(crate) fn doctor(setting: &Setting) -> Result<ExitCode, Failure> {
    let config = setting.config(Vec::new())?;
    let data_dir = config.data_dir().map_err(|error| error.to_string());
    let store = platform::store_if_needed(&config);
    let sandbox = sandboxing::chosen(&setting.environment, &config.settings)?.sandbox;
    let (reached, enforcement) = runtime::one_thread()?.block_on(async {
        let reached = store.ping().await;
        store.close().await;
        let enforcement = match &sandbox {
            Some(sandbox) => sandbox.enforcement().await,
            None => Enforcement::default(),
        };
        (reached, enforcement)
    });
    let engine = if config.settings.store.url.is_some() {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    let database = match (&data_dir, reached) {
        (Err(reason), _) => Err(reason.clone()),
        (Ok(_), Ok(())) => Ok(format!("{engine} answers")),
        (Ok(_), Err(error)) => Err(platform::with_causes(&error)),
    };
    let report = examine(&Examination {
        environment: &setting.environment,
        data_dir,
        workspaces: &config.settings.workspaces,
        sandbox: TriedSandbox {
            backend: sandbox.map(|sandbox| sandbox.backend()),
            enforcement,
            allow_weaker: config.settings.sandbox.allow_weaker,
        },
        trial: namespace::trial().ok(),
        database,
    });
    if setting.global.json {
        render::answer(&json!(report), true)
    } else {
        let colours = io::stdout().is_terminal();
        let width = colours.then(render::terminal_width).flatten();
        render::coloured(&report.to_table(Look { colours, width }))
    }
    .map_err(Failure::output)?;
    Ok(if report.is_fit() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
