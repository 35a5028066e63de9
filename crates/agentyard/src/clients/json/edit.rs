//! The change itself: pieces of text in, everything around them as it was.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::super::NAME;
use super::Change;
use super::scan::{Object, object_at};

/// A file with nothing but our entry.
pub(crate) fn document(change: &Change<'_>) -> String {
    let style = Style::usual();
    let section = style.member(change.section, &section(change, &style));
    format!("{}\n", style.object(0, &[section]))
}

/// The text with our entry in it; the key that is no object where one belongs, if there is such a thing.
pub(crate) fn put(text: &str, change: &Change<'_>) -> Result<String, String> {
    let root = object_at(text, 0).ok_or_else(|| "the file".to_owned())?;
    let style = Style::of(text, &root);
    let Some(member) = root.member(change.section) else {
        let member = style.member(change.section, &section(change, &style));
        return Ok(style.append(text, &root, 1, &member));
    };
    let servers = object_at(text, member.value.start).ok_or_else(|| change.section.to_owned())?;
    let Some(member) = servers.member(NAME) else {
        let member = style.member(NAME, &entry(change, &style, Vec::new()));
        return Ok(style.append(text, &servers, 2, &member));
    };
    let existing = object_at(text, member.value.start);
    if existing
        .as_ref()
        .is_some_and(|existing| says_the_same(text, existing, change))
    {
        return Ok(text.to_owned());
    }
    let kept = existing
        .map(|existing| kept(text, &existing, change))
        .unwrap_or_default();
    Ok(splice(text, member.value.clone(), &entry(change, &style, kept)))
}

/// Whether an entry says already what it should, whatever else it says.
fn says_the_same(text: &str, existing: &Object, change: &Change<'_>) -> bool {
    let says = |name: &str, expected: &Value| {
        let member = existing.member(name);
        member.is_some_and(|member| {
            serde_json::from_str(&text[member.value.clone()]).ok().as_ref() == Some(expected)
        })
    };
    let is_field = |name: &str| change.fields.iter().any(|(field, _)| *field == name);
    let is_stale = |name: &str| change.superseded.contains(&name) && !is_field(name);
    change.fields.iter().all(|(name, value)| says(name, value))
        && !existing.members.iter().any(|member| is_stale(&member.name))
}

/// The members of an entry that are not ours to change, as they stand.
fn kept(text: &str, existing: &Object, change: &Change<'_>) -> Vec<String> {
    let is_kept = |name: &str| !change.superseded.contains(&name);
    let members = existing.members.iter().filter(|member| is_kept(&member.name));
    members
        .map(|member| text[member.start..member.value.end].to_owned())
        .collect()
}

fn section(change: &Change<'_>, style: &Style) -> String {
    style.object(1, &[style.member(NAME, &entry(change, style, Vec::new()))])
}

fn entry(change: &Change<'_>, style: &Style, kept: Vec<String>) -> String {
    let fields = change
        .fields
        .iter()
        .map(|(name, value)| style.member(name, &style.value(3, value)));
    style.object(2, &fields.chain(kept).collect::<Vec<_>>())
}

fn splice(text: &str, range: Range<usize>, piece: &str) -> String {
    format!("{}{piece}{}", &text[..range.start], &text[range.end..])
}

/// How a file is laid out.
#[derive(Debug)]
enum Style {
    /// Without white space.
    Compact,
    /// A member a line, indented by this for each level.
    Indented { unit: String, line_break: &'static str },
}

impl Style {
    fn usual() -> Self {
        Self::Indented {
            unit: "  ".to_owned(),
            line_break: "\n",
        }
    }

    /// The style of a text, as its first member shows it.
    fn of(text: &str, root: &Object) -> Self {
        let Some(first) = root.members.first() else {
            return Self::usual();
        };
        let lead = &text[root.range.start + 1..first.start];
        match lead.rsplit_once('\n') {
            None => Self::Compact,
            Some((before, unit)) => Self::Indented {
                unit: unit.to_owned(),
                line_break: if before.ends_with('\r') { "\r\n" } else { "\n" },
            },
        }
    }

    /// What begins a line at this level.
    fn line(&self, level: usize) -> String {
        match self {
            Self::Compact => String::new(),
            Self::Indented { unit, line_break } => format!("{line_break}{}", unit.repeat(level)),
        }
    }

    /// A member whose value is written already.
    fn member(&self, name: &str, value: &str) -> String {
        let space = match self {
            Self::Compact => "",
            Self::Indented { .. } => " ",
        };
        format!("{}:{space}{value}", Value::from(name))
    }

    /// An object of members; the level is that of its closing brace.
    fn object(&self, level: usize, members: &[String]) -> String {
        self.enclosed(level, '{', members, '}')
    }

    fn enclosed(&self, level: usize, open: char, items: &[String], close: char) -> String {
        let mut text = String::from(open);
        for (position, item) in items.iter().enumerate() {
            let separator = if position == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{}{item}", self.line(level + 1));
        }
        if !items.is_empty() {
            text.push_str(&self.line(level));
        }
        text.push(close);
        text
    }

    /// A value; the level is that of the line on which it begins.
    fn value(&self, level: usize, value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.value(level + 1, item)).collect();
                self.enclosed(level, '[', &items, ']')
            }
            Value::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| self.member(name, &self.value(level + 1, value)))
                    .collect();
                self.object(level, &members)
            }
            plain => plain.to_string(),
        }
    }

    /// Puts a member behind the last one of an object; the level is that of the member.
    fn append(&self, text: &str, object: &Object, level: usize, member: &str) -> String {
        match object.members.last() {
            Some(last) => splice(
                text,
                last.value.end..last.value.end,
                &format!(",{}{member}", self.line(level)),
            ),
            None => {
                let piece = self.object(level - 1, &[member.to_owned()]);
                splice(text, object.range.clone(), &piece)
            }
        }
    }
}
