//! What a commit or tag says, and who says it: checked such that git takes it for nothing else.

use std::fmt;

use crate::{Error, text};

/// The message of a commit or tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(String);

/// Who wrote something, as `Name <address>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author(String);

/// A line at the end of a message, as `Key: value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer(String);

/// No message is longer.
const MAX_MESSAGE: usize = 64 * 1024;

/// No name, address or trailer is longer.
const MAX_LINE: usize = 1024;

/// No message has more trailers.
const MAX_TRAILERS: usize = 64;

impl Message {
    /// Checks a message. Lines may end as they do on Windows.
    pub fn new(text: &str) -> Result<Self, Error> {
        let message = text.replace("\r\n", "\n");
        let fault = if message.trim().is_empty() {
            "it is empty"
        } else if message.len() > MAX_MESSAGE {
            "it is longer than 64 KiB"
        } else if message != text::without_controls(&message) {
            "it contains control characters other than line feed and tab"
        } else {
            return Ok(Self(message));
        };
        Err(Error::invalid("the message", fault))
    }

    /// The message.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Adds trailers at the end, in a paragraph of their own. What is there already is not repeated.
    #[must_use]
    pub fn with_trailers(self, trailers: &[Trailer]) -> Self {
        if trailers.is_empty() {
            return self;
        }
        let mut message = self.0.trim_end().to_owned();
        let (before, last) = message.rsplit_once("\n\n").unwrap_or((&message, ""));
        let goes_on = !before.trim().is_empty()
            && !last.is_empty()
            && last.lines().all(|line| Trailer::new(line).is_ok());
        let known: Vec<String> = last.lines().filter(|_| goes_on).map(ToOwned::to_owned).collect();
        message.push_str(if goes_on { "\n" } else { "\n\n" });
        for trailer in trailers.iter().filter(|trailer| !known.contains(&trailer.0)) {
            message.push_str(&trailer.0);
            message.push('\n');
        }
        Self(message)
    }
}

impl Author {
    /// Reads `Name <address>`.
    pub fn new(text: &str) -> Result<Self, Error> {
        let parts = text
            .trim()
            .strip_suffix('>')
            .and_then(|rest| rest.split_once('<'))
            .map(|(name, email)| (name.trim(), email.trim()));
        let fault = match parts {
            None => "write it as `Name <address>`",
            Some((name, email)) if name.is_empty() || email.is_empty() => {
                "it needs both a name and an address"
            }
            Some((name, email)) if name.contains(['<', '>']) || email.contains(['<', '>', ' ']) => {
                "write it as `Name <address>`"
            }
            Some(_) if text.len() > MAX_LINE => "it is too long",
            Some(_) if text != text::one_line(text) => "it contains control characters",
            Some((name, email)) => return Ok(Self(format!("{name} <{email}>"))),
        };
        let shown: String = text::one_line(text).chars().take(MAX_LINE).collect();
        Err(Error::invalid(format!("the author {shown:?}"), fault))
    }

    /// The author, as git takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Trailer {
    /// Reads `Key: value`.
    pub fn new(text: &str) -> Result<Self, Error> {
        let is_key = |key: &str| {
            !key.is_empty()
                && key
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !key.starts_with('-')
        };
        match text.split_once(':') {
            Some((key, value))
                if is_key(key)
                    && !value.trim().is_empty()
                    && text.len() <= MAX_LINE
                    && text == text::one_line(text) =>
            {
                Ok(Self(format!("{key}: {}", value.trim())))
            }
            _ => {
                let shown: String = text::one_line(text).chars().take(MAX_LINE).collect();
                Err(Error::invalid(
                    format!("the trailer {shown:?}"),
                    "write it on one line as `Key: value`, the key in letters, digits and dashes",
                ))
            }
        }
    }

    /// Several of them.
    pub fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<Vec<Self>, Error> {
        let trailers: Vec<Self> = texts
            .into_iter()
            .map(|text| Self::new(text))
            .collect::<Result<_, _>>()?;
        if trailers.len() > MAX_TRAILERS {
            return Err(Error::invalid(
                format!("a list of {} trailers", trailers.len()),
                format!("{MAX_TRAILERS} are allowed"),
            ));
        }
        Ok(trailers)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_checked() {
        assert_eq!(
            Message::new("subject\r\n\r\n\tbody\r\n").unwrap().as_str(),
            "subject\n\n\tbody\n"
        );
        assert!(Message::new("--amend").is_ok(), "it is given on standard input");
        let long = "x".repeat(MAX_MESSAGE + 1);
        for text in ["", " \n\t\n", "a\0b", "a\u{1b}[31mb", "a\rb", "a\u{202e}b", &long] {
            assert!(Message::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn authors_are_checked() {
        for (text, expected) in [
            ("Ada Lovelace <ada@example.org>", "Ada Lovelace <ada@example.org>"),
            (" Jürgen  <j@b> ", "Jürgen <j@b>"),
        ] {
            assert_eq!(Author::new(text).unwrap().as_str(), expected);
        }
        for text in [
            "",
            "Ada",
            "<a@b>",
            "Ada <>",
            "Ada <a@b",
            "Ada <a@b> x",
            "Ada <a <b>",
            "A\nauthor B <b>",
            "A\0 <b>",
            "--amend",
        ] {
            assert!(Author::new(text).is_err(), "{text:?}");
        }
    }

    fn check(message: &str, trailers: &[&str], expected: &str) {
        let trailers: Vec<String> = trailers.iter().map(|&text| text.to_owned()).collect();
        let trailers = Trailer::list(&trailers).unwrap();
        let message = Message::new(message).unwrap().with_trailers(&trailers);
        assert_eq!(message.as_str(), expected);
    }

    #[test]
    fn trailers_form_the_last_paragraph() {
        check("subject\n", &["Fixes:#1"], "subject\n\nFixes: #1\n");
        check("a: b", &["C-d: e"], "a: b\n\nC-d: e\n");
        check("subject\n\nA: b\n", &["A: b", "C: d"], "subject\n\nA: b\nC: d\n");
        check(
            "subject\n\ntext here",
            &["A: b"],
            "subject\n\ntext here\n\nA: b\n",
        );
        check("as it is", &[], "as it is");
    }

    #[test]
    fn trailers_are_checked() {
        for text in [
            "",
            "x",
            "a b: c",
            ": c",
            "a:",
            "a: \n",
            "a: b\nc: d",
            "-a: b",
            "a: \u{7}",
        ] {
            assert!(Trailer::new(text).is_err(), "{text:?}");
        }
        let many = vec!["A: b".to_owned(); MAX_TRAILERS + 1];
        assert!(Trailer::list(&many).is_err());
    }
}
