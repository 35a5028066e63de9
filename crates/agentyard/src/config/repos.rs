//! The repositories that the configuration names.

use std::fmt;
use std::path::PathBuf;

use agentyard_git::{BranchName, RemoteUrl};
use agentyard_model::RepoName;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A repository that is there without being registered: `[[repos]]` in a file, `name=address` in a variable. What is
/// wrong with it is found when the configuration is read, and told with the line that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepoEntry {
    pub(crate) name: RepoName,
    pub(crate) url: RemoteUrl,
    pub(crate) default_branch: Option<BranchName>,
}

/// The entry as a file has it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    /// What it is called.
    name: RepoName,
    /// Its address, without password or token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Or its directory on this machine, which may be outside the roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// Its default branch, when it is not the remote's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_branch: Option<String>,
}

impl RepoEntry {
    fn read(written: Written) -> Result<Self, String> {
        let address = match (written.url, written.path) {
            (Some(url), None) => url,
            (None, Some(path)) => absolute(path)?,
            _ => return Err(format!("`{}` needs either `url` or `path`", written.name)),
        };
        Ok(Self {
            name: written.name,
            url: RemoteUrl::parse(&address).map_err(|error| error.to_string())?,
            default_branch: written
                .default_branch
                .map(BranchName::new)
                .transpose()
                .map_err(|error| error.to_string())?,
        })
    }
}

fn absolute(path: PathBuf) -> Result<String, String> {
    let path = path
        .into_os_string()
        .into_string()
        .ok()
        .filter(|path| path.starts_with('/'));
    path.ok_or_else(|| "`path` must be absolute".to_owned())
}

impl<'de> Deserialize<'de> for RepoEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = RepoEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a section with `name` and `url`, or `name=address`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RepoEntry, E> {
        // The text itself is not told: it may be a token without its address.
        let (name, address) = text
            .split_once('=')
            .ok_or_else(|| E::custom("expected `name=address`"))?;
        let written = Written {
            name: name.trim().parse().map_err(E::custom)?,
            url: Some(address.trim().to_owned()),
            path: None,
            default_branch: None,
        };
        RepoEntry::read(written).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RepoEntry, A::Error> {
        let written = Written::deserialize(MapAccessDeserializer::new(map))?;
        RepoEntry::read(written).map_err(A::Error::custom)
    }
}

impl Serialize for RepoEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written {
            name: self.name.clone(),
            url: Some(self.url.to_string()),
            path: None,
            default_branch: self.default_branch.as_ref().map(ToString::to_string),
        };
        written.serialize(serializer)
    }
}

impl JsonSchema for RepoEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RepoEntry".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests;
