use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;

use super::*;
use crate::config::file;
use crate::config::source::Source;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sample {
    switch: bool,
    count: u16,
    offset: Option<i64>,
    ratio: f64,
    name: String,
    place: Option<PathBuf>,
    places: Vec<PathBuf>,
    level: Option<Level>,
    inner: Inner,
    labels: BTreeMap<String, u8>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Inner {
    words: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Low,
    High,
}

fn from_variables(values: &[(&str, &str)]) -> Result<Sample, String> {
    let mut table = Table::default();
    for (key, value) in values {
        table.set(key, value, Source::Variable(format!("V_{}", key.to_uppercase())));
    }
    read(&table)
}

fn from_file(text: &str) -> Result<Sample, String> {
    let path: Arc<Path> = Arc::from(Path::new("/etc/yard/agentyard.toml"));
    read(&file::parse(&path, text).unwrap())
}

fn read(table: &Table) -> Result<Sample, String> {
    let keys = ["switch", "count", "inner.words"];
    settings(table, Some(Path::new("/home/ada"))).map_err(|fault: Fault| fault.explain(keys).to_string())
}

#[test]
fn a_text_becomes_what_the_setting_asks_for() {
    let sample = from_variables(&[
        ("switch", "On"),
        ("count", "1_024"),
        ("offset", "-3"),
        ("ratio", "0.5"),
        ("name", " 12 "),
        ("place", "~/a"),
        ("places", "/b, ~/c,,"),
        ("level", "high"),
        ("inner.words", "one, two"),
        ("labels.a", "7"),
    ]);
    let expected = Sample {
        switch: true,
        count: 1024,
        offset: Some(-3),
        ratio: 0.5,
        name: " 12 ".to_owned(),
        place: Some(PathBuf::from("/home/ada/a")),
        places: vec![PathBuf::from("/b"), PathBuf::from("/home/ada/c")],
        level: Some(Level::High),
        inner: Inner {
            words: vec!["one".to_owned(), "two".to_owned()],
        },
        labels: BTreeMap::from([("a".to_owned(), 7)]),
    };
    assert_eq!(sample.unwrap(), expected);
}

#[test]
fn a_file_has_types_of_its_own() {
    let sample = from_file(
        "switch = true\ncount = 0x10\nratio = 2\nname = \"12\"\nplaces = [\"b\", \"~/c\"]\n[inner]\nwords = [\"one, two\"]\n",
    );
    let expected = Sample {
        switch: true,
        count: 16,
        ratio: 2.0,
        name: "12".to_owned(),
        places: vec![PathBuf::from("/etc/yard/b"), PathBuf::from("/home/ada/c")],
        inner: Inner {
            words: vec!["one, two".to_owned()],
        },
        ..Sample::default()
    };
    assert_eq!(sample.unwrap(), expected);
}

#[test]
fn a_wrong_value_names_its_key_its_source_and_what_was_expected() {
    for (text, expected) in [
        (
            "switch = \"yes\"",
            "/etc/yard/agentyard.toml:1: the value of `switch` cannot be used: expected a boolean, found a text",
        ),
        (
            "\n\ncount = 70000",
            "/etc/yard/agentyard.toml:3: the value of `count` cannot be used: \
             expected a whole number from 0 to 65535, found integer `70000`",
        ),
        (
            "name = 12345",
            "/etc/yard/agentyard.toml:1: the value of `name` cannot be used: expected a text, found a whole number",
        ),
        (
            "level = \"middle\"",
            "/etc/yard/agentyard.toml:1: the value of `level` cannot be used: `middle` is none of `low`, `high`",
        ),
        (
            "[inner]\nwords = [\n  \"a\",\n  1,\n]",
            "/etc/yard/agentyard.toml:2: the value of `inner.words` cannot be used: expected a text, found a whole number",
        ),
        (
            "inner = 5",
            "/etc/yard/agentyard.toml:1: the value of `inner` cannot be used: \
             expected a section, found a whole number",
        ),
    ] {
        assert_eq!(from_file(text).unwrap_err(), expected);
    }
    for (key, value, expected) in [
        (
            "switch",
            "maybe",
            "$V_SWITCH: the value of `switch` cannot be used: expected `true` or `false`, found `maybe`",
        ),
        (
            "count",
            "many\u{1b}[31m",
            "$V_COUNT: the value of `count` cannot be used: expected a whole number, found `many\\u{1b}[31m`",
        ),
        (
            "ratio",
            "half",
            "$V_RATIO: the value of `ratio` cannot be used: expected a number, found `half`",
        ),
    ] {
        assert_eq!(from_variables(&[(key, value)]).unwrap_err(), expected);
    }
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_right_one() {
    assert_eq!(
        from_file("switch = true\n[inner]\nwrods = []").unwrap_err(),
        "/etc/yard/agentyard.toml:3: there is no setting `inner.wrods`; did you mean `inner.words`? \
         `agentyard config reference` lists all of them"
    );
    assert_eq!(
        from_file("colour = 1").unwrap_err(),
        "/etc/yard/agentyard.toml:1: there is no setting `colour`; `agentyard config reference` lists all of them"
    );
}
