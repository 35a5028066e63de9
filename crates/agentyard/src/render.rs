//! Answers for people: an object as lines, a list of objects as a table, JSON when asked.

use std::io::{self, IsTerminal, Write};

use agentyard_model::Timestamp;
use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, ContentArrangement, Table};
use serde_json::{Map, Value};

const KEY: Style = AnsiColor::Cyan.on_default();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Yellow.on_default();

/// Writes an answer to standard output.
pub(crate) fn answer(value: &Value, json: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{value}")
    } else {
        write!(out, "{}", document(value))
    }
}

/// Writes text to standard output as it is, without what could steer a terminal.
pub(crate) fn text(text: &str) -> io::Result<()> {
    write!(anstream::stdout().lock(), "{}", harmless(text))
}

/// Writes text whose colours are ours to standard output.
pub(crate) fn coloured(text: &str) -> io::Result<()> {
    write!(anstream::stdout().lock(), "{text}")
}

/// How many columns the terminal has.
pub(crate) fn terminal_width() -> Option<u16> {
    Table::new().width()
}

/// Writes an error object to standard error.
pub(crate) fn error(object: &Value, json: bool) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    if json {
        return writeln!(out, "{object}");
    }
    let error = &object["error"];
    writeln!(
        out,
        "{ERROR}error{ERROR:#}: {}",
        harmless(error["message"].as_str().unwrap_or("unknown"))
    )?;
    for hint in error["hints"].as_array().into_iter().flatten() {
        writeln!(
            out,
            "  {HINT}hint{HINT:#}: {}",
            harmless(hint.as_str().unwrap_or_default())
        )?;
    }
    Ok(())
}

/// Writes a warning to standard error.
pub(crate) fn warning(text: &str) -> io::Result<()> {
    writeln!(
        anstream::stderr().lock(),
        "{HINT}warning{HINT:#}: {}",
        harmless(text)
    )
}

fn document(value: &Value) -> String {
    match value {
        Value::Object(fields) => lines(fields, 0),
        other => format!("{}\n", scalar(other)),
    }
}

fn lines(fields: &Map<String, Value>, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut text = String::new();
    for (field, value) in fields {
        let name = label(field);
        match value {
            Value::Null => {}
            Value::Object(inner) if inner.is_empty() => {}
            Value::Object(inner) if inner.values().all(is_tally) => {
                let tallies: Vec<String> = inner.iter().map(|(name, value)| tally(name, value)).collect();
                text.push_str(&format!("{indent}{KEY}{name}{KEY:#}: {}\n", tallies.join(", ")));
            }
            Value::Object(inner) => text.push_str(&format!(
                "{indent}{KEY}{name}{KEY:#}\n{}",
                lines(inner, depth + 1)
            )),
            Value::Array(items) if items.iter().any(Value::is_object) => text.push_str(&table(items)),
            Value::Array(items) if items.is_empty() => {
                text.push_str(&format!("{indent}{KEY}{name}{KEY:#}: none\n"));
            }
            Value::Array(items) if items.len() > 4 => {
                text.push_str(&format!("{indent}{KEY}{name}{KEY:#}\n"));
                for item in items {
                    text.push_str(&format!("{indent}  {}\n", scalar(item)));
                }
            }
            other => text.push_str(&format!("{indent}{KEY}{name}{KEY:#}: {}\n", shown(field, other))),
        }
    }
    text
}

/// Whether this says how often something happened.
fn is_tally(value: &Value) -> bool {
    value["count"].is_u64()
}

/// How often something happened, and how long it took on average when that was counted, too: `opened 3 (12 ms each)`.
fn tally(name: &str, value: &Value) -> String {
    let count = value["count"].as_u64().unwrap_or_default();
    let each = value["total"].as_u64().and_then(|total| total.checked_div(count));
    match (name.strip_suffix("_us"), each) {
        (Some(name), Some(each)) => format!("{} {count} ({} each)", spaced(name), duration(each)),
        (Some(name), None) => format!("{} {count}", spaced(name)),
        (None, _) => format!("{} {count}", spaced(name)),
    }
}

fn spaced(name: &str) -> String {
    harmless(&name.replace('_', " "))
}

fn duration(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..10_000_000 => format!("{} ms", microseconds / 1_000),
        _ => format!("{} s", microseconds / 1_000_000),
    }
}

fn table(items: &[Value]) -> String {
    let mut columns: Vec<&String> = Vec::new();
    for item in items.iter().filter_map(Value::as_object) {
        for name in item.keys() {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
    }
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    let header = columns.iter().map(|name| {
        let cell = Cell::new(label(name));
        if io::stdout().is_terminal() {
            cell.add_attribute(Attribute::Bold)
        } else {
            cell
        }
    });
    table.set_header(header);
    for item in items {
        table.add_row(columns.iter().map(|name| shown(name, &item[name.as_str()])));
    }
    let rows: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    rows.join("\n") + "\n"
}

/// What a field is called for people.
fn label(field: &str) -> String {
    spaced(field.strip_suffix(BYTES).unwrap_or(field))
}

/// A field's value for people: sizes in units that can be read.
fn shown(field: &str, value: &Value) -> String {
    match value.as_u64() {
        Some(bytes) if field.ends_with(BYTES) => size(bytes),
        _ => scalar(value),
    }
}

/// How fields are called that hold a size.
const BYTES: &str = "_bytes";

fn size(bytes: u64) -> String {
    let (mut rest, mut unit) = (bytes, "B");
    for larger in ["kB", "MB", "GB", "TB"] {
        if rest < 10_000 {
            break;
        }
        (rest, unit) = (rest / 1000, larger);
    }
    format!("{rest} {unit}")
}

/// An instant as people read it: to the second, with the date apart from the time.
fn instant(text: &str) -> Option<String> {
    text.parse::<Timestamp>().ok()?;
    let universal = text.strip_suffix('Z')?;
    let (seconds, _) = universal.split_once('.').unwrap_or((universal, ""));
    Some(format!("{}Z", seconds.replace('T', " ")))
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => instant(text).unwrap_or_else(|| harmless(text)),
        Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Text without control characters other than line ends and tabs: what a repository or
/// a server says must not move the cursor, set the title or answer for the person.
fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let plain = !character.is_control() || matches!(character, '\n' | '\t');
            let escaped = (!plain).then(|| character.escape_default());
            plain
                .then_some(character)
                .into_iter()
                .chain(escaped.into_iter().flatten())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_lines_and_a_list_of_objects_a_table() {
        let value = json!({
            "branch": "main",
            "ahead": 1,
            "upstream": null,
            "commits": [{ "id": "a1", "subject": "Begin" }, { "id": "b2", "subject": "Go on" }],
            "untracked": ["a", "b"],
        });
        let plain = anstream::adapter::strip_str(&document(&value)).to_string();
        expect![[r#"
            branch: main
            ahead: 1
             id  subject
             a1  Begin
             b2  Go on
            untracked: a, b
        "#]]
        .assert_eq(&plain);
    }

    #[test]
    fn a_list_of_workspaces_is_for_people() {
        let value = json!({
            "workspaces": [{
                "branch": "main",
                "disk_bytes": 40_960,
                "used_at": "2026-11-15T11:16:33.517704Z",
            }],
            "totals": {
                "opened_us": { "count": 3, "total": 36_900 },
                "push_retries": { "count": 2 },
                "undone_us": { "count": 1, "total": 12_000_000 },
            },
        });
        let plain = anstream::adapter::strip_str(&document(&value)).to_string();
        expect![[r#"
             branch  disk   used at
             main    40 kB  2026-11-15 11:16:33Z
            totals: opened 3 (12 ms each), push retries 2, undone 1 (12 s each)
        "#]]
        .assert_eq(&plain);
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(harmless("a\u{1b}]0;x\u{7}b\tc\n"), "a\\u{1b}]0;x\\u{7}b\tc\n");
    }
}
