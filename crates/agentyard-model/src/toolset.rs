//! Toolsets: the domains into which operations are grouped, each an MCP server of its own.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text names no toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a toolset; the toolsets are {}", Toolsets::ALL)]
pub struct UnknownToolset {
    text: String,
}

/// A domain of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Toolset {
    /// Repositories: status, history, changes.
    Git,
    /// Workspaces, and the repositories they are made of.
    Workspace,
    /// Files, searches, builds and commands in a workspace.
    Build,
    /// Code that is run, and the environments that it runs in.
    Exec,
    /// Sandboxes that stay.
    Sandbox,
    /// Who one is, and what one works on.
    Core,
    /// Tokens and the audit log.
    Admin,
}

impl Toolset {
    /// Every toolset there is.
    pub const ALL: &'static [Self] = &[
        Self::Git,
        Self::Workspace,
        Self::Build,
        Self::Exec,
        Self::Sandbox,
        Self::Core,
        Self::Admin,
    ];

    /// The toolset as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Workspace => "workspace",
            Self::Build => "build",
            Self::Exec => "exec",
            Self::Sandbox => "sandbox",
            Self::Core => "core",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        Self::ALL
            .iter()
            .copied()
            .find(|toolset| toolset.as_str() == text)
            .ok_or_else(|| UnknownToolset {
                text: text.escape_debug().take(80).collect(),
            })
    }
}

/// A set of toolsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Toolsets {
    bits: u32,
}

impl Toolsets {
    /// None at all.
    pub const NONE: Self = Self { bits: 0 };

    /// All there are.
    pub const ALL: Self = Self {
        bits: (1 << Toolset::ALL.len()) - 1,
    };

    /// A set of the ones named.
    #[must_use]
    pub const fn of(toolsets: &[Toolset]) -> Self {
        let mut bits = 0;
        let mut position = 0;
        while position < toolsets.len() {
            bits |= 1 << toolsets[position] as u32;
            position += 1;
        }
        Self { bits }
    }

    /// The toolsets in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self {
            bits: self.bits & other.bits,
        }
    }

    /// Whether the set has this one.
    #[must_use]
    pub const fn contains(self, toolset: Toolset) -> bool {
        self.bits & (1 << toolset as u32) != 0
    }

    /// The toolsets in the set, in their order.
    pub fn iter(self) -> impl Iterator<Item = Toolset> {
        Toolset::ALL
            .iter()
            .copied()
            .filter(move |toolset| self.contains(*toolset))
    }
}

impl FromIterator<Toolset> for Toolsets {
    fn from_iter<I: IntoIterator<Item = Toolset>>(toolsets: I) -> Self {
        let bits = toolsets
            .into_iter()
            .fold(0, |bits, toolset| bits | 1 << toolset as u32);
        Self { bits }
    }
}

/// The form in which a set is stored and shown: names with a space between.
impl fmt::Display for Toolsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, toolset) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { " " };
            write!(f, "{separator}{toolset}")?;
        }
        Ok(())
    }
}

/// Names with spaces or commas between, as people type them.
impl FromStr for Toolsets {
    type Err = UnknownToolset;

    fn from_str(text: &str) -> Result<Self, UnknownToolset> {
        text.split([' ', ','])
            .filter(|name| !name.is_empty())
            .map(str::parse)
            .collect()
    }
}

impl Serialize for Toolsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Toolsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Toolset>::deserialize(deserializer).map(|list| list.into_iter().collect())
    }
}

impl JsonSchema for Toolsets {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Toolsets".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <Vec<Toolset>>::json_schema(generator)
    }
}
