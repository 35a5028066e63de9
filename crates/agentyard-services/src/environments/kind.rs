//! The kinds of environments.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an environment is made and filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvironmentKind {
    /// Python's own `venv`, filled by pip.
    #[default]
    Venv,
    /// A virtual environment that uv makes and fills.
    VenvUv,
    /// An environment of conda, micromamba or mamba.
    Conda,
}

/// A name that no kind of environment has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind of environment `{0}`: expected `venv`, `venv-uv` or `conda`")]
pub struct UnknownEnvironmentKind(String);

impl EnvironmentKind {
    /// Every kind there is.
    pub const ALL: &'static [Self] = &[Self::Venv, Self::VenvUv, Self::Conda];

    /// Its name in settings and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Venv => "venv",
            Self::VenvUv => "venv-uv",
            Self::Conda => "conda",
        }
    }
}

impl fmt::Display for EnvironmentKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for EnvironmentKind {
    type Err = UnknownEnvironmentKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|kind| kind.as_str() == text);
        found
            .copied()
            .ok_or_else(|| UnknownEnvironmentKind(text.escape_debug().take(40).collect()))
    }
}
