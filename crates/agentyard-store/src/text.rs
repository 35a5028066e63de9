//! Text on its way into the database.

use std::borrow::Cow;

use crate::{Error, Result};

/// The longest text, in bytes, that is kept of what somebody else worded: the target of
/// an audited call, the message of an error. A flood of long ones must not fill the disk.
const MAX_FREE_TEXT: usize = 4096;

/// The longest text, in bytes, that is part of a key. PostgreSQL's indexes end at 2,704.
const MAX_KEY_LENGTH: usize = 1024;

/// What stands for a character that PostgreSQL cannot store.
const REPLACEMENT: &str = "\u{fffd}";

/// What can be kept of a text whose length others have bounded: it without NUL.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', REPLACEMENT))
    } else {
        Cow::Borrowed(text)
    }
}

/// What can be kept of a text that must be written down whatever it is: without NUL, and
/// cut at [`MAX_FREE_TEXT`], which then shows.
pub(crate) fn bounded(text: &str) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    let text = storable(text);
    if text.len() <= MAX_FREE_TEXT {
        return text;
    }
    let end = text.floor_char_boundary(MAX_FREE_TEXT - ELLIPSIS.len());
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}

/// Refuses a text too long to be a key.
pub(crate) fn key<'a>(attempt: &'static str, text: &'a str) -> Result<&'a str> {
    if text.len() <= MAX_KEY_LENGTH {
        Ok(text)
    } else {
        Err(Error::Unstorable {
            attempt,
            reason: "a name in it is longer than 1,024 bytes",
        })
    }
}

/// A pattern for `LIKE … ESCAPE '\'` that finds this text anywhere, with nothing in it
/// meaning anything but itself.
pub(crate) fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wildcards_are_escaped() {
        assert_eq!(containing(r"50%_a\b"), r"%50\%\_a\\b%");
    }

    proptest! {
        #[test]
        fn free_text_always_fits(text in "\\PC{0,2000}|[\\x00-\\x7f]{0,9000}") {
            let kept = bounded(&text);
            prop_assert!(!kept.contains('\0'));
            prop_assert!(kept.len() <= MAX_FREE_TEXT);
            if text.len() <= MAX_FREE_TEXT && !text.contains('\0') {
                prop_assert_eq!(&*kept, text.as_str());
            }
        }
    }
}
