//! `agentyard config`: what is set, and by whom.

use std::process::ExitCode;

use crate::config;
use crate::exit::Failure;
use crate::platform::Setting;
use crate::render;

/// Shows every key, its value and its source.
pub(crate) fn show(setting: &Setting) -> Result<ExitCode, Failure> {
    let loaded = setting.config(Vec::new())?;
    for warning in &loaded.warnings {
        render::warning(warning).map_err(Failure::output)?;
    }
    if setting.global.json {
        render::answer(&serde_json::json!(loaded.shown()?), true)
    } else {
        render::text(&config::to_text(&loaded.shown()?))
    }
    .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows all keys and variables, with what they mean.
pub(crate) fn reference() -> Result<ExitCode, Failure> {
    render::text(&config::reference_markdown()?).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
