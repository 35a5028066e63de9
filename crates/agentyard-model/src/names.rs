//! Names that people give: one strict pattern for all, so that a name can stand in
//! a URL, a log line or a terminal without being escaped, and never in a file path
//! (storage paths are made of ids).

use std::fmt;
use std::str::FromStr;

use crate::as_text::as_text;

/// The longest name.
const MAX_NAME_LENGTH: usize = 64;

/// The pattern that every name matches.
const NAME_PATTERN: &str = "^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$";

/// The text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a valid {kind}: use 1 to {MAX_NAME_LENGTH} lower-case letters, digits, `.`, `_` or `-`, \
     beginning and ending with a letter or digit"
)]
pub struct InvalidName {
    text: String,
    kind: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if is_name(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidName {
                        text: text.escape_debug().take(80).collect(),
                        kind: $kind,
                    })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        as_text!($name, { "type": "string", "pattern": NAME_PATTERN });
    };
}

name!(
    /// What a tenant is called.
    TenantName, "tenant name"
);
name!(
    /// What a person signs in as.
    UserName, "user name"
);
name!(
    /// What a token is for, in its maker's words.
    TokenName, "token name"
);
name!(
    /// A role: a set of toolsets and permissions under one name.
    RoleName, "role name"
);

name!(
    /// What a repository is called, from which workspaces are made.
    RepoName, "repository name"
);

impl UserName {
    /// The person whose machine this is.
    #[must_use]
    pub fn local() -> Self {
        Self("local".to_owned())
    }
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= MAX_NAME_LENGTH
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes
            .iter()
            .all(|byte| alphanumeric(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_strict() {
        for good in ["ci", "a", "web-shop", "v1.2_x", &"a".repeat(64)] {
            assert!(good.parse::<TokenName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-ci",
            "ci-",
            "CI",
            "a b",
            "a/b",
            "..",
            "a\n",
            "ä",
            "\u{1b}[31m",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<TokenName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_refusal_shows_no_control_character() {
        let error = "\u{1b}[31m".parse::<TokenName>().unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}
