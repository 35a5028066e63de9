//! Permissions: what a caller may do, each named `area:action`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text names no permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a permission; the permissions are {}", Permissions::ALL)]
pub struct UnknownPermission {
    text: String,
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)+) => {
        /// One thing that a caller may do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Permission {
            $($(#[$doc])* $variant,)+
        }

        impl Permission {
            /// Every permission there is, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The permission as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

permissions! {
    /// See projects and what is in their repositories.
    ProjectRead = "project:read",
    /// Change them.
    ProjectWrite = "project:write",
    /// Throw them away.
    ProjectDelete = "project:delete",
    /// Run code.
    AgentRun = "agent:run",
    /// Start agents.
    AgentSpawn = "agent:spawn",
    /// See deployments.
    DeployRead = "deploy:read",
    /// Make and roll back deployments.
    DeployPromote = "deploy:promote",
    /// See logs, traces and metrics.
    ObserveRead = "observe:read",
    /// Send them.
    ObserveWrite = "observe:write",
    /// Define alerts.
    AlertManage = "alert:manage",
    /// Use secrets.
    SecretRead = "secret:read",
    /// Change them.
    SecretWrite = "secret:write",
    /// Administer users and tokens.
    AdminUsers = "admin:users",
    /// Administer roles.
    AdminRoles = "admin:roles",
    /// Pass permissions on.
    AdminDelegate = "admin:delegate",
    /// Administer the installation and read its audit log.
    AdminConfig = "admin:config",
}

impl Permission {
    /// Deployments reach other people's users: these are passed on only when they are
    /// asked for by name.
    #[must_use]
    pub const fn must_be_asked_for(self) -> bool {
        matches!(self, Self::DeployRead | Self::DeployPromote)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(text: &str) -> Result<Self, UnknownPermission> {
        Self::ALL
            .iter()
            .copied()
            .find(|permission| permission.as_str() == text)
            .ok_or_else(|| UnknownPermission {
                text: text.escape_debug().take(80).collect(),
            })
    }
}

impl Serialize for Permission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Permission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Permission {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|permission| permission.as_str()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Permissions {
    bits: u32,
}

impl Permissions {
    /// None at all.
    pub const NONE: Self = Self { bits: 0 };

    /// All there are.
    pub const ALL: Self = Self {
        bits: (1 << Permission::ALL.len()) - 1,
    };

    /// Those of this set with which nothing can be changed.
    #[must_use]
    pub fn reading(self) -> Self {
        self.iter()
            .filter(|permission| permission.as_str().ends_with(":read"))
            .collect()
    }

    /// The permissions in this set that the other has too.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self {
            bits: self.bits & other.bits,
        }
    }

    /// The permissions in this set that the other lacks.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self {
            bits: self.bits & !other.bits,
        }
    }

    /// Whether the set has this one.
    #[must_use]
    pub const fn contains(self, permission: Permission) -> bool {
        self.bits & (1 << permission as u32) != 0
    }

    /// Whether there is none in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The permissions in the set, in their order.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        let bits = permissions
            .into_iter()
            .fold(0, |bits, permission| bits | 1 << permission as u32);
        Self { bits }
    }
}

/// The form in which a set is stored and shown: names with a space between.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, permission) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { " " };
            write!(f, "{separator}{permission}")?;
        }
        Ok(())
    }
}

impl FromStr for Permissions {
    type Err = UnknownPermission;

    fn from_str(text: &str) -> Result<Self, UnknownPermission> {
        text.split_ascii_whitespace().map(str::parse).collect()
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Permission>::deserialize(deserializer).map(|list| list.into_iter().collect())
    }
}

impl JsonSchema for Permissions {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Permissions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<Permission>>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_as_itself() {
        let set: Permissions = [Permission::ProjectRead, Permission::AdminConfig]
            .into_iter()
            .collect();
        assert_eq!(set.to_string(), "project:read admin:config");
        assert_eq!(set.to_string().parse(), Ok(set));
        assert_eq!(Permissions::ALL.iter().count(), Permission::ALL.len());
        assert!("project:own".parse::<Permissions>().is_err());
    }

    #[test]
    fn sets_intersect() {
        let asked: Permissions = [Permission::ProjectRead, Permission::ProjectWrite]
            .into_iter()
            .collect();
        let held: Permissions = [Permission::ProjectRead, Permission::AgentRun]
            .into_iter()
            .collect();
        assert_eq!(asked.intersection(held).to_string(), "project:read");
        assert_eq!(asked.without(held).to_string(), "project:write");
    }
}
