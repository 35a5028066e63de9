//! `agentyard config show`: every value and where it came from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ConfigError;
use super::keys;
use super::loader::Loaded;
use super::schema;
use super::source::Source;

/// One value and where it came from.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    key: String,
    value: Value,
    source: Source,
}

impl<T: Serialize + JsonSchema> Loaded<T> {
    /// Where the value of a key came from.
    pub(crate) fn source_of(&self, key: &str) -> Source {
        self.sources.get(key).cloned().unwrap_or(Source::Default)
    }

    /// Every value, sorted by key; secrets are stars.
    pub(crate) fn shown(&self) -> Result<Vec<Shown>, ConfigError> {
        let unset = schema::keys::<T>().into_iter().map(|key| (key, Value::Null));
        let values: BTreeMap<_, _> = unset.chain(keys::values(&self.settings)?).collect();
        let shown = values.into_iter().map(|(key, value)| Shown {
            source: self.source_of(&key),
            key,
            value,
        });
        Ok(shown.collect())
    }
}

/// The values as a configuration file would have them, each with its source as a comment.
pub(crate) fn to_text(values: &[Shown]) -> String {
    values.iter().map(line).collect()
}

fn line(shown: &Shown) -> String {
    let Shown { key, value, source } = shown;
    match value {
        Value::Null => format!("# {key} is not set\n"),
        // JSON and TOML write texts, numbers, booleans and lists of them alike.
        value => format!("{key} = {value}  # {source}\n"),
    }
}
