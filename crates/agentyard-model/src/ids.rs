//! Ids: UUIDv7 behind a typed prefix (`tok_0192…`), so that an id says what it
//! names, sorts by its creation, and cannot be passed where another kind is meant.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::as_text::as_text;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}: an id looks like `{prefix}_` followed by 32 hexadecimal digits")]
pub struct InvalidId {
    text: String,
    expected: &'static str,
    prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $described:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What stands before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// A new id, later than all made before it on this machine.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "an id is made, never defaulted")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// An id with a fixed value: for what exists before any database does.
            #[must_use]
            pub const fn fixed(value: u128) -> Self {
                Self(Uuid::from_u128(value))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse($prefix, text).map(Self).ok_or_else(|| InvalidId {
                    text: text.chars().take(80).collect(),
                    expected: $described,
                    prefix: $prefix,
                })
            }
        }

        as_text!($name, { "type": "string" });
    };
}

id!(
    /// A tenant: what nothing crosses.
    TenantId, "ten", "a tenant id"
);
id!(
    /// A person.
    UserId, "usr", "a user id"
);
id!(
    /// A service token.
    TokenId, "tok", "a token id"
);
id!(
    /// One row of the audit log.
    AuditId, "aud", "an audit record id"
);
id!(
    /// One piece of long work.
    JobId, "job", "a job id"
);

id!(
    /// A repository that workspaces are made of.
    RepoId, "rep", "a repository id"
);
id!(
    /// A workspace: a branch in its own tree.
    WorkspaceId, "wsp", "a workspace id"
);
id!(
    /// One run of a command.
    RunId, "run", "a run id"
);
id!(
    /// What is on record of one execution.
    ExecutionId, "exe", "an execution id"
);

impl TenantId {
    /// The tenant of a machine that nobody has divided into tenants.
    pub const LOCAL: Self = Self::fixed(1);
}

impl UserId {
    /// The person whose machine this is: the caller over stdio and on the command line.
    pub const LOCAL: Self = Self::fixed(1);
}

/// Only the canonical spelling is an id: upper case or hyphens would make two
/// texts for one thing, and texts are what logs and caches compare.
fn parse(prefix: &str, text: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let canonical = digits.len() == 32
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    canonical.then(|| Uuid::try_parse(digits).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself() {
        let id = TokenId::new();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(id.to_string().starts_with("tok_"));
    }

    #[test]
    fn ids_sort_by_creation() {
        let first = JobId::new();
        let second = JobId::new();
        assert!(first < second);
        assert!(first.to_string() < second.to_string());
    }

    #[test]
    fn another_kind_or_spelling_is_refused() {
        let token = TokenId::new().to_string();
        assert!(token.parse::<UserId>().is_err());
        assert!(token.to_uppercase().parse::<TokenId>().is_err());
        assert!("tok_123".parse::<TokenId>().is_err());
        assert!(format!("{token}0").parse::<TokenId>().is_err());
    }
}
