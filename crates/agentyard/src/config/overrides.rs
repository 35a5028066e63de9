//! What the command line says: stronger than every other layer.

use super::ConfigError;
use super::fault::printable;
use super::source::Source;
use super::tree::Table;

/// A value for a key, from a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Override {
    /// The dotted key: `http.listen`.
    pub(crate) key: String,
    /// The value as typed; the items of a list are separated by commas.
    pub(crate) value: String,
    /// The flag, for whoever wonders where the value came from: `--listen`.
    pub(crate) flag: String,
}

impl Override {
    /// An override by a flag of its own.
    pub(crate) fn new(key: &str, value: impl Into<String>, flag: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.into(),
            flag: flag.to_owned(),
        }
    }

    /// Reads the argument of `--set section.key=value`.
    pub(crate) fn parse_set(text: &str) -> Result<Self, ConfigError> {
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| ConfigError::OverrideWithoutValue {
                text: printable(text),
            })?;
        Ok(Self::new(key.trim(), value, "--set"))
    }
}

/// The layer of the command line.
pub(crate) fn layer(overrides: &[Override]) -> Table {
    let mut table = Table::default();
    for Override { key, value, flag } in overrides {
        table.set(key, value, Source::Flag(flag.clone()));
    }
    table
}
