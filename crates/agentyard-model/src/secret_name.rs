//! What a secret is called: the name of the variable in which an execution finds it.

use std::fmt;
use std::str::FromStr;

use crate::Timestamp;
use crate::as_text::as_text;

/// The longest name.
const MAX_LENGTH: usize = 64;

/// The text cannot be the name of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a name for a secret: use 1 to {MAX_LENGTH} letters, digits or `_`, not a digit first, for example \
     `API_TOKEN`, and none of the names by which programs are started or told what to load"
)]
pub struct InvalidSecretName {
    text: String,
}

/// The name of a secret, and of the variable in which an execution finds it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = InvalidSecretName;

    fn from_str(text: &str) -> Result<Self, InvalidSecretName> {
        let plain = (1..=MAX_LENGTH).contains(&text.len())
            && !text.starts_with(|first: char| first.is_ascii_digit())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain && !is_reserved(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSecretName {
                text: text.escape_debug().take(80).collect(),
            })
        }
    }
}

/// Variables that a secret must not replace: where programs are looked for, what is loaded into them, who one is.
fn is_reserved(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "PWD", "IFS", "ENV",
        "BASH_ENV",
    ];
    const PREFIXES: &[&str] = &["LD_", "LC_", "PYTHON", "AGENTYARD_"];
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text!(SecretName, { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" });

/// What may be told of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its name.
    pub name: SecretName,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When it was last set.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_a_variable_that_is_free() {
        for good in ["API_TOKEN", "a", "_x9", &"A".repeat(64)] {
            assert!(good.parse::<SecretName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "9A",
            "A-B",
            "A=B",
            "A\nB",
            "Ä",
            &"A".repeat(65),
            "PATH",
            "path",
            "LD_PRELOAD",
            "PYTHONSTARTUP",
            "AGENTYARD_TOKEN",
            "BASH_ENV",
        ] {
            assert!(bad.parse::<SecretName>().is_err(), "{bad:?}");
        }
    }
}
