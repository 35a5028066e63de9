//! All layers, one over the other, become settings.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;

use agentyard_model::Secret;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ConfigError;
use super::deserialize;
use super::environment::Environment;
use super::file::{self, ConfigFile};
use super::keys;
use super::overrides::{self, Override};
use super::schema;
use super::source::Source;
use super::tree::Table;
use super::variables;

/// What the layers are made of, the weakest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layers<'a> {
    /// Defaults that depend on the machine.
    pub(crate) computed: &'a Table,
    /// The file of `--config`.
    pub(crate) file: Option<&'a Path>,
    /// The environment.
    pub(crate) environment: &'a Environment,
    /// The flags.
    pub(crate) overrides: &'a [Override],
}

/// Settings, and how they came about.
#[derive(Debug, Clone)]
pub(crate) struct Loaded<T> {
    /// The settings.
    pub(crate) settings: T,
    /// Where each value came from that somebody gave.
    pub(crate) sources: BTreeMap<String, Source>,
    /// What looks wrong and does no harm; to be logged once logging has begun.
    pub(crate) warnings: Vec<String>,
}

/// Reads the layers.
pub(crate) fn load<T>(layers: Layers<'_>) -> Result<Loaded<T>, ConfigError>
where
    T: Default + Serialize + DeserializeOwned + JsonSchema,
{
    let defaults = keys::values(&T::default())?;
    let all_keys = LazyCell::new(schema::keys::<T>);
    let mut table = layers.computed.clone();
    let files = file::read_all(layers.file, layers.environment)?;
    for file in &files {
        table.overlay(file.table.clone());
    }
    let (variables, mut warnings) = variables::layer(layers.environment, &defaults, &all_keys)?;
    table.overlay(variables);
    table.overlay(overrides::layer(layers.overrides));

    let settings = deserialize::settings(&table, layers.environment.home())
        .map_err(|fault| fault.explain(all_keys.iter().map(String::as_str)))?;
    let sources = table.sources();
    for file in &files {
        warnings.extend(exposure(file, &settings, &sources)?);
    }
    Ok(Loaded {
        settings,
        sources,
        warnings,
    })
}

/// What others may do to a file that they should not.
fn exposure<T: Serialize>(
    file: &ConfigFile,
    settings: &T,
    sources: &BTreeMap<String, Source>,
) -> Result<Option<String>, ConfigError> {
    const OTHERS_READ: u32 = 0o004;
    const OTHERS_WRITE: u32 = 0o002;
    let path = file.path.display();
    if file.mode & OTHERS_WRITE != 0 {
        return Ok(Some(format!(
            "everybody on this machine can change the configuration file {path}; run `chmod o-w {path}`"
        )));
    }
    if file.mode & OTHERS_READ == 0 {
        return Ok(None);
    }
    let from_here =
        |key: &String| matches!(sources.get(key), Some(Source::File { path, .. }) if *path == file.path);
    let secret = keys::values(settings)?
        .into_iter()
        .find(|(key, value)| from_here(key) && value == Secret::STARS)
        .map(|(key, _)| key);
    Ok(secret.map(|key| {
        format!(
            "the configuration file {path} holds a secret, `{key}`, that everybody on this machine can read; \
             run `chmod 600 {path}`"
        )
    }))
}

#[cfg(test)]
mod tests;
