//! `agentyard doctor`: looks at the machine and at what Agentyard has on it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use serde_json::json;

use crate::doctor::{Examination, Look, examine};
use crate::exit::Failure;
use crate::namespace;
use crate::platform::{self, Setting};
use crate::{render, runtime};

/// Looks, and says whether everything works that is needed.
pub(crate) fn doctor(setting: &Setting) -> Result<ExitCode, Failure> {
    let config = setting.config(Vec::new())?;
    let data_dir = config.data_dir().map_err(|error| error.to_string());
    let store = platform::store_if_needed(&config);
    let reached = runtime::one_thread()?.block_on(async {
        let reached = store.ping().await;
        store.close().await;
        reached
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
        allow_host: config.settings.sandbox.allow_host,
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
