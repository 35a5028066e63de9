//! From the tree of layers to settings, by serde: each setting's own type says how its text is read.

use std::path::Path;

use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::fault::{Fault, printable};
use super::paths;
use super::tree::{Entry, Node, Table};

/// Makes settings of a tree; what it leaves out keeps its default.
pub(crate) fn settings<T: DeserializeOwned>(table: &Table, home: Option<&Path>) -> Result<T, Fault> {
    T::deserialize(MapAccessDeserializer::new(Entries::of(table, home)))
}

/// What `PathBuf` says that it expects. Serde hands it a text like any other, and this is how
/// a path is told from one; a test holds that it stays so.
const EXPECTATION_OF_A_PATH: &str = "path string";

/// The entries of a section, one after the other.
struct Entries<'a> {
    rest: std::collections::btree_map::Iter<'a, String, Entry>,
    current: Option<(&'a String, &'a Entry)>,
    home: Option<&'a Path>,
}

impl<'a> Entries<'a> {
    fn of(table: &'a Table, home: Option<&'a Path>) -> Self {
        Self {
            rest: table.iter(),
            current: None,
            home,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.rest.next();
        let Some((name, entry)) = self.current else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Fault> = name.as_str().into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|fault| fault.at(name, &entry.source))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((name, entry)) = self.current else {
            return Err(Fault::value("a value was asked for before its key"));
        };
        seed.deserialize(EntryDeserializer {
            entry,
            home: self.home,
        })
        .map_err(|fault| fault.at(name, &entry.source))
    }
}

/// One entry, read as whatever its setting asks for.
#[derive(Clone, Copy)]
struct EntryDeserializer<'a> {
    entry: &'a Entry,
    home: Option<&'a Path>,
}

impl<'a> EntryDeserializer<'a> {
    /// What a variable or a flag says here, if it is one of these that speaks.
    fn untyped(self) -> Option<&'a str> {
        match &self.entry.node {
            Node::Untyped(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// The items of a list that was written with commas.
    fn split(self, text: &str) -> Vec<Entry> {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| Entry {
                node: Node::Untyped(item.to_owned()),
                source: self.entry.source.clone(),
            })
            .collect()
    }

    fn list<'de, V: Visitor<'de>>(self, items: &[Entry], visitor: V) -> Result<V::Value, Fault> {
        let items = items.iter().map(|entry| EntryDeserializer {
            entry,
            home: self.home,
        });
        visitor.visit_seq(SeqDeserializer::new(items))
    }

    fn whole_number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(text) = self.untyped() else {
            return self.deserialize_any(visitor);
        };
        // Underscores may separate the digits, as in a file.
        let digits = text.replace('_', "");
        match (digits.parse::<u64>(), digits.parse::<i64>()) {
            (Ok(number), _) => visitor.visit_u64(number),
            (_, Ok(number)) => visitor.visit_i64(number),
            _ => Err(Fault::value(format!(
                "expected a whole number, found `{}`",
                printable(text)
            ))),
        }
    }

    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(text) = self.untyped() else {
            return self.deserialize_any(visitor);
        };
        match text.parse() {
            Ok(number) => visitor.visit_f64(number),
            Err(_) => Err(Fault::value(format!(
                "expected a number, found `{}`",
                printable(text)
            ))),
        }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let (Node::Text(text) | Node::Untyped(text)) = &self.entry.node else {
            return self.deserialize_any(visitor);
        };
        let expected: &dyn de::Expected = &visitor;
        if expected.to_string() != EXPECTATION_OF_A_PATH {
            return visitor.visit_str(text);
        }
        let path = paths::resolve(text, &self.entry.source, self.home).map_err(Fault::value)?;
        let path = path.into_os_string().into_string();
        visitor.visit_string(path.map_err(|_| Fault::value("the path is not valid Unicode"))?)
    }
}

macro_rules! forward {
    ($target:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.$target(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for EntryDeserializer<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.entry.node {
            Node::Table(table) => visitor.visit_map(Entries::of(table, self.home)),
            Node::List(items) => self.list(items, visitor),
            Node::Boolean(boolean) => visitor.visit_bool(*boolean),
            Node::Integer(number) => visitor.visit_i64(*number),
            Node::Float(number) => visitor.visit_f64(*number),
            Node::Text(text) | Node::Untyped(text) => visitor.visit_str(text),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(text) = self.untyped() else {
            return self.deserialize_any(visitor);
        };
        match boolean(text) {
            Some(boolean) => visitor.visit_bool(boolean),
            None => Err(Fault::value(format!(
                "expected `true` or `false`, found `{}`",
                printable(text)
            ))),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.untyped() {
            Some(text) => self.list(&self.split(text), visitor),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.entry.node {
            Node::Text(text) | Node::Untyped(text) => visitor.visit_enum(text.trim().into_deserializer()),
            Node::Table(table) => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::of(table, self.home)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward! { whole_number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
    deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }
    forward! { number: deserialize_f32 deserialize_f64 }
    forward! { text: deserialize_str deserialize_string deserialize_char }

    forward_to_deserialize_any! {
        bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Fault> for EntryDeserializer<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
