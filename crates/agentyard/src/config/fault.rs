//! What serde finds wrong with a layer, in words for a person.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use super::ConfigError;
use super::nearest::nearest;
use super::source::Source;

/// A mistake in the tree, and the way from the root to it.
#[derive(Debug)]
pub(crate) struct Fault {
    problem: Problem,
    /// The names on the way to the mistake, the innermost first.
    path: Vec<String>,
    origin: Option<Source>,
}

#[derive(Debug)]
enum Problem {
    UnknownKey,
    Value(String),
}

impl Fault {
    /// A value that cannot be used.
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self {
            problem: Problem::Value(message.into()),
            path: Vec::new(),
            origin: None,
        }
    }

    /// Notes that the mistake is at this name, written there, unless a deeper place is known.
    pub(crate) fn at(mut self, name: &str, source: &Source) -> Self {
        self.path.push(name.to_owned());
        self.origin.get_or_insert_with(|| source.clone());
        self
    }

    /// The error for a person, with the nearest of the keys there are.
    pub(crate) fn explain<'a>(self, known_keys: impl IntoIterator<Item = &'a str>) -> ConfigError {
        let key = self
            .path
            .iter()
            .rev()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(".");
        let origin = self.origin.unwrap_or(Source::Default);
        match self.problem {
            Problem::UnknownKey => ConfigError::UnknownKey {
                nearest: nearest(&key, known_keys).map(str::to_owned),
                key: printable(&key),
                origin,
            },
            Problem::Value(message) => ConfigError::InvalidValue { key, origin, message },
        }
    }
}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::value(message.to_string())
    }

    /// Only the kind of thing that was found is named, not the thing: it may be a password without its quotes.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(format!(
            "expected {}, found {}",
            in_words(expected),
            kind_of(&found)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(format!("expected {}, found {found}", in_words(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let choices = expected
            .iter()
            .map(|choice| format!("`{choice}`"))
            .collect::<Vec<_>>();
        Self::value(format!(
            "`{}` is none of {}",
            printable(variant),
            choices.join(", ")
        ))
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self {
            problem: Problem::UnknownKey,
            path: Vec::new(),
            origin: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::UnknownKey => f.write_str("unknown key"),
            Problem::Value(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

/// A text for an error message: short, and without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.escape_debug().take(80).collect()
}

/// Serde names the types of Rust, which are not the reader's business.
fn in_words(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    let largest = match expected.as_str() {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" | "i64" | "i32" | "isize" => return "a whole number".to_owned(),
        "f32" | "f64" => return "a number".to_owned(),
        "a string" | "path string" => return "a text".to_owned(),
        "a sequence" => return "a list".to_owned(),
        _ if expected.starts_with("struct ") => return "a section".to_owned(),
        _ => return expected,
    };
    format!("a whole number from 0 to {largest}")
}

fn kind_of(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a text",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a section",
        _ => "something else",
    }
}
