//! Secrets by type: what must not be printed cannot be.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A password, key or token. It shows as stars wherever it is printed or serialised,
/// is wiped from memory when dropped, and gives its text only to who asks in so many words.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// What stands in the place of a secret.
    pub const STARS: &'static str = "********";

    /// Takes a text into custody.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The text itself: for the one place that must send, hash or compare it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::STARS)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::STARS)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::STARS)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl schemars::JsonSchema for Secret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "password" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_as_stars() {
        let secret = Secret::new("hunter2");
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?}"),
            "******** ******** ********"
        );
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"********\"");
        assert_eq!(secret.expose(), "hunter2");
    }
}
