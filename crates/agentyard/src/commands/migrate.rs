//! `agentyard migrate`: brings the database up to date.

use std::process::ExitCode;

use agentyard_services::ErrorKind;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::platform::{self, Setting};
use crate::{render, runtime};

/// Opens the database, which brings it up to date, and says what that took.
pub(crate) fn migrate(setting: &Setting) -> Result<ExitCode, Failure> {
    let config = setting.config(Vec::new())?;
    let store = platform::store(&config)?;
    let applied = runtime::one_thread()?.block_on(async {
        let applied = store.migrate().await;
        store.close().await;
        applied
    });
    let applied = applied.map_err(|error| Failure::new(ErrorKind::Unavailable, error))?;
    let applied: Vec<Value> = applied
        .iter()
        .map(|migration| json!({ "version": migration.version, "name": migration.name }))
        .collect();
    let answer = json!({ "up_to_date": true, "applied": applied });
    render::answer(&answer, setting.global.json).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
