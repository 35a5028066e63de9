//! Where a page of files or of matches ends.
//!
//! A cursor is plain ASCII and of limited length, a path may hold anything: what is not plain is written as `%` and its
//! hexadecimal digits.

use agentyard_git::{self as git, SearchPlace};
use agentyard_model::Cursor;

/// The longest cursor that is taken back.
const MAX_LENGTH: usize = 500;

/// The cursor after an entry of a listing; none when its path is too long for one.
#[must_use]
pub fn list_cursor(path: &str) -> Option<Cursor> {
    fitting(encoded(path))
}

/// The cursor after a place of a search; none when its path is too long for one.
#[must_use]
pub fn search_cursor(place: &SearchPlace) -> Option<Cursor> {
    let line = place.line.map(|line| line.to_string()).unwrap_or_default();
    fitting(format!("{line}:{}", encoded(&place.path)))
}

pub(super) fn list_place(cursor: &Cursor) -> Result<String, git::Error> {
    decoded(cursor.as_str()).ok_or_else(invalid)
}

pub(super) fn search_place(cursor: &Cursor) -> Result<SearchPlace, git::Error> {
    let place = || {
        let (line, path) = cursor.as_str().split_once(':')?;
        let line = match line {
            "" => None,
            line => Some(line.parse().ok()?),
        };
        Some(SearchPlace {
            path: decoded(path)?,
            line,
        })
    };
    place().ok_or_else(invalid)
}

fn fitting(text: String) -> Option<Cursor> {
    (text.len() <= MAX_LENGTH).then(|| Cursor::at(text))
}

fn encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02x}"));
        }
    }
    encoded
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

fn invalid() -> git::Error {
    git::Error::Invalid {
        what: "the cursor".to_owned(),
        reason: "it is not one of this tool; leave it out to begin anew".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        for path in ["src/main.rs", "with space/ü%20:x", "\"a\\nb\""] {
            let cursor = list_cursor(path).unwrap();
            assert!(cursor.as_str().parse::<Cursor>().is_ok());
            assert_eq!(list_place(&cursor).unwrap(), path);
            for line in [None, Some(7)] {
                let place = SearchPlace {
                    path: path.to_owned(),
                    line,
                };
                assert_eq!(search_place(&search_cursor(&place).unwrap()).unwrap(), place);
            }
        }
        assert!(list_cursor(&"x".repeat(600)).is_none());
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["%", "%zz", "%ff"] {
            assert!(list_place(&Cursor::at(text)).is_err(), "{text}");
        }
        for text in ["x", "a:b", "-1:b"] {
            assert!(search_place(&Cursor::at(text)).is_err(), "{text}");
        }
    }
}
