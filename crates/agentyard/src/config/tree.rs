//! What the layers say, before it becomes settings: a tree in which every value knows its source.

use std::collections::BTreeMap;
use std::collections::btree_map;

use super::source::Source;

/// A value or a section, and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) node: Node,
    pub(crate) source: Source,
}

/// What stands at a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A section.
    Table(Table),
    /// A list of a file.
    List(Vec<Entry>),
    /// `true` or `false` of a file.
    Boolean(bool),
    /// A whole number of a file.
    Integer(i64),
    /// Any other number of a file.
    Float(f64),
    /// A text of a file.
    Text(String),
    /// What a variable or a flag says. It has no type of its own: it becomes what the setting asks for.
    Untyped(String),
}

/// Keys and what stands at them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    entries: BTreeMap<String, Entry>,
}

impl Table {
    /// Puts what a variable or a flag says at a dotted key.
    pub(crate) fn set(&mut self, key: &str, value: &str, source: Source) {
        let node = Node::Untyped(value.to_owned());
        match key.split_once('.') {
            None => self.insert(key.to_owned(), Entry { node, source }),
            Some((section, rest)) => {
                let mut inner = Self::default();
                inner.set(rest, value, source.clone());
                let node = Node::Table(inner);
                self.insert(section.to_owned(), Entry { node, source });
            }
        }
    }

    /// Puts an entry over what is there: sections are merged key by key, anything else gives way.
    pub(crate) fn insert(&mut self, key: String, entry: Entry) {
        match self.entries.entry(key) {
            btree_map::Entry::Vacant(place) => {
                place.insert(entry);
            }
            btree_map::Entry::Occupied(mut place) => match (&mut place.get_mut().node, entry.node) {
                (Node::Table(below), Node::Table(above)) => below.overlay(above),
                // A section over a plain value (`http = 5` in a file): the mistake stays, to be reported.
                (_, Node::Table(_)) => {}
                (_, node) => {
                    place.insert(Entry {
                        node,
                        source: entry.source,
                    });
                }
            },
        }
    }

    /// Puts a whole layer over this one.
    pub(crate) fn overlay(&mut self, above: Self) {
        for (key, entry) in above.entries {
            self.insert(key, entry);
        }
    }

    /// The keys in their order, with what stands at them.
    pub(crate) fn iter(&self) -> btree_map::Iter<'_, String, Entry> {
        self.entries.iter()
    }

    /// Every value with its dotted key and its source.
    pub(crate) fn sources(&self) -> BTreeMap<String, Source> {
        let mut found = BTreeMap::new();
        self.collect_sources("", &mut found);
        found
    }

    fn collect_sources(&self, prefix: &str, found: &mut BTreeMap<String, Source>) {
        for (name, entry) in self.iter() {
            let key = format!("{prefix}{name}");
            match &entry.node {
                Node::Table(table) => table.collect_sources(&format!("{key}."), found),
                _ => {
                    found.insert(key, entry.source.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(name: &str) -> Source {
        Source::Flag(name.to_owned())
    }

    #[test]
    fn a_layer_covers_key_by_key() {
        let mut table = Table::default();
        table.set("http.listen", "a", flag("--one"));
        table.set("http.path", "b", flag("--one"));
        let mut above = Table::default();
        above.set("http.listen", "c", flag("--two"));
        table.overlay(above);
        let sources: Vec<_> = table.sources().into_iter().collect();
        assert_eq!(
            sources,
            [
                ("http.listen".to_owned(), flag("--two")),
                ("http.path".to_owned(), flag("--one")),
            ]
        );
    }

    #[test]
    fn a_section_does_not_hide_a_value_in_its_place() {
        let mut table = Table::default();
        table.set("http", "5", flag("--one"));
        table.set("http.listen", "c", flag("--two"));
        assert_eq!(table.sources().keys().collect::<Vec<_>>(), ["http"]);
    }
}
