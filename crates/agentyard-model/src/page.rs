//! Pages: no list is answered whole.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// The most items in one page.
pub const MAX_PAGE_SIZE: u32 = 500;

/// The text is not a cursor that we made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a cursor: pass on `next_cursor` of the page before, unchanged")]
pub struct InvalidCursor {
    text: String,
}

impl InvalidCursor {
    /// This text, which somebody took for a cursor.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.escape_debug().take(80).collect(),
        }
    }
}

/// Where the next page begins. Clients pass it back unread.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    const MAX_LENGTH: usize = 512;

    /// A cursor to this place.
    #[must_use]
    pub fn at(place: impl fmt::Display) -> Self {
        Self(place.to_string())
    }

    /// The cursor as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The place it points to.
    ///
    /// # Errors
    /// When the text is no such place: it was made up, or is another list's.
    pub fn place<T: FromStr>(&self) -> Result<T, InvalidCursor> {
        self.0.parse().map_err(|_| InvalidCursor::new(&self.0))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let plain = !text.is_empty()
            && text.len() <= Self::MAX_LENGTH
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if plain {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCursor::new(text))
        }
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Which part of a list is wanted.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// How many items at most, from 1 to [`MAX_PAGE_SIZE`].
    pub limit: u32,
    /// Where to begin; the beginning when left out.
    pub cursor: Option<Cursor>,
}

impl PageRequest {
    /// How many items a page has when nobody says.
    pub const DEFAULT_LIMIT: u32 = 50;

    /// A page of the wanted size, or of the nearest size there is.
    #[must_use]
    pub fn new(limit: Option<u32>, cursor: Option<Cursor>) -> Self {
        Self {
            limit: limit.unwrap_or(Self::DEFAULT_LIMIT).clamp(1, MAX_PAGE_SIZE),
            cursor,
        }
    }
}

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items of this part.
    pub items: Vec<T>,
    /// Where the next part begins, when there is one.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// A page of at most `limit` items from a query that asked for one more than that:
    /// the extra one is dropped and only says that there are more.
    #[must_use]
    pub fn from_overfull(mut items: Vec<T>, limit: u32, place: impl Fn(&T) -> Cursor) -> Self {
        let limit = limit as usize;
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(place);
        Self { items, next }
    }

    /// The same page with every item turned into something else.
    #[must_use]
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(convert).collect(),
            next: self.next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extra_item_only_says_that_there_are_more() {
        let full = Page::from_overfull(vec![1, 2, 3], 2, |item| Cursor::at(item));
        assert_eq!((full.items, full.next), (vec![1, 2], Some(Cursor::at(2))));
        let last = Page::from_overfull(vec![1, 2], 2, |item| Cursor::at(item));
        assert_eq!((last.items, last.next), (vec![1, 2], None));
    }

    #[test]
    fn a_cursor_is_plain_text() {
        assert!("aud_1".parse::<Cursor>().is_ok());
        assert!("".parse::<Cursor>().is_err());
        assert!("a b".parse::<Cursor>().is_err());
        assert!("x".repeat(513).parse::<Cursor>().is_err());
    }
}
