//! From a client's arguments to an operation's input, with errors that name the
//! argument and what was expected of it.

use std::sync::LazyLock;

use agentyard_services::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::level::Level;

/// The argument that every operation with levels takes beside its own.
pub(crate) const DETAIL: &str = "detail";

/// Takes the level out of the arguments, if one is there.
///
/// # Errors
/// When it is there and names no level.
pub(crate) fn take_level(arguments: &mut Map<String, Value>) -> Result<Option<Level>> {
    let Some(value) = arguments.remove(DETAIL) else {
        return Ok(None);
    };
    serde_json::from_value(value)
        .map(Some)
        .map_err(|_| Error::invalid("argument `detail`: expected one of `minimal`, `standard`, `full`"))
}

/// Gives arguments the spelling that the schema has: names and the values of enumerations may also come in camel
/// case or with hyphens (`maxCount`, `show-current`), as clients of other servers write them, and names may be such as
/// those know.
pub(crate) fn respell(
    arguments: &mut Map<String, Value>,
    schema: &Map<String, Value>,
    aliases: &[(&str, &str)],
) {
    let known = properties(schema);
    let foreign: Vec<String> = arguments
        .keys()
        .filter(|name| !known.contains_key(*name))
        .cloned()
        .collect();
    for name in foreign {
        let ours = snake_case(&name);
        let alias = aliases.iter().find(|(other, _)| *other == ours);
        let ours = alias.map_or(ours, |(_, ours)| (*ours).to_owned());
        if known.contains_key(&ours)
            && !arguments.contains_key(&ours)
            && let Some(value) = arguments.shift_remove(&name)
        {
            arguments.insert(ours, value);
        }
    }
    for (name, value) in arguments {
        let Some(Value::String(text)) = Some(&*value) else {
            continue;
        };
        let choices = known
            .get(name)
            .and_then(|property| property.get("enum"))
            .and_then(Value::as_array);
        if let Some(choices) = choices
            && !choices.iter().any(|choice| choice == text.as_str())
        {
            let ours = snake_case(text);
            if choices.iter().any(|choice| choice == ours.as_str()) {
                *value = Value::String(ours);
            }
        }
    }
}

/// Takes `workspace` for another name of `path`, where a repository is named by its path: both say where to work.
pub(crate) fn workspace_as_path(arguments: &mut Map<String, Value>, schema: &Map<String, Value>) {
    let known = properties(schema);
    if known.contains_key("path")
        && !known.contains_key("workspace")
        && !arguments.contains_key("path")
        && let Some(workspace) = arguments.shift_remove("workspace")
    {
        arguments.insert("path".to_owned(), workspace);
    }
}

fn snake_case(text: &str) -> String {
    let mut snake = String::with_capacity(text.len() + 4);
    for character in text.chars() {
        if character == '-' {
            snake.push('_');
        } else if character.is_ascii_uppercase() {
            snake.push('_');
            snake.push(character.to_ascii_lowercase());
        } else {
            snake.push(character);
        }
    }
    snake
}

/// Reads the input, whose schema is given for what it says about an argument that is
/// not there.
///
/// # Errors
/// When an argument is unknown, missing, or of the wrong type.
pub(crate) fn read<T: DeserializeOwned>(
    arguments: Map<String, Value>,
    schema: &Map<String, Value>,
) -> Result<T> {
    let known: Vec<&str> = properties(schema).keys().map(String::as_str).collect();
    if let Some(unknown) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(unknown_argument(unknown, &known));
    }
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.inner().to_string();
        match path.as_str() {
            "." => Error::invalid(format!("arguments: {reason}")),
            _ => Error::invalid(format!(
                "argument `{path}`: {reason}{}",
                expectation(&path, schema)
            )),
        }
    })
}

pub(crate) fn properties(schema: &Map<String, Value>) -> &Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&EMPTY)
}

fn unknown_argument(unknown: &str, known: &[&str]) -> Error {
    let shown: String = unknown.escape_debug().take(60).collect();
    let error = Error::invalid(format!("unknown argument `{shown}`"));
    match (nearest(unknown, known), known.is_empty()) {
        (_, true) => error.hint("this operation takes no arguments"),
        (Some(nearest), _) => error.hint(format!("did you mean `{nearest}`?")),
        (None, _) => error.hint(format!("the arguments are {}", quoted(known))),
    }
}

/// The known word that this one was probably meant to be.
#[must_use]
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    /// No name is so long, and comparing would take time with the square of the length.
    const MAX_WORD: usize = 100;
    if word.len() > MAX_WORD {
        return None;
    }
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// What the schema says about the argument, for somebody who got it wrong.
fn expectation(path: &str, schema: &Map<String, Value>) -> String {
    let name = path.split(['.', '[']).next().unwrap_or(path);
    let description = properties(schema)
        .get(name)
        .and_then(|property| property.get("description"))
        .and_then(Value::as_str);
    description.map_or_else(String::new, |text| format!(" ({text})"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read for its errors")]
    struct Input {
        /// How many commits.
        max_count: Option<u32>,
        /// Where.
        paths: Vec<String>,
    }

    fn check(arguments: Value, expected: Expect) {
        let schema = crate::schema::of_input::<Input>();
        let Value::Object(arguments) = arguments else {
            panic!("an object");
        };
        let error = read::<Input>(arguments, &schema).unwrap_err();
        expected.assert_eq(&format!("{} | {}", error.message(), error.hints().join(" ")));
    }

    #[test]
    fn other_spellings_are_accepted_where_they_mean_one_thing() {
        #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline)]
        enum Mode {
            List,
            ShowCurrent,
        }
        #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
        struct Moded {
            mode: Option<Mode>,
            start_point: Option<String>,
        }
        let read_back = |arguments: Value| {
            let schema = crate::schema::of_input::<Moded>();
            let Value::Object(mut arguments) = arguments else {
                panic!("an object");
            };
            respell(&mut arguments, &schema, &[("begin", "start_point")]);
            read::<Moded>(arguments, &schema)
        };
        let moded = Moded {
            mode: Some(Mode::ShowCurrent),
            start_point: Some("a-B".to_owned()),
        };
        assert_eq!(
            read_back(json!({ "mode": "show-current", "startPoint": "a-B" })).unwrap(),
            moded
        );
        assert_eq!(
            read_back(json!({ "mode": "showCurrent", "start-point": "a-B" })).unwrap(),
            moded
        );
        assert_eq!(
            read_back(json!({ "mode": "show_current", "begin": "a-B" })).unwrap(),
            moded
        );
        let both = read_back(json!({ "start_point": "a", "startPoint": "b" }));
        assert!(both.unwrap_err().message().contains("startPoint"));
    }

    #[test]
    fn an_error_names_the_argument_and_what_was_expected() {
        check(
            json!({ "paths": [], "max_coutn": 3 }),
            expect!["unknown argument `max_coutn` | did you mean `max_count`?"],
        );
        check(
            json!({ "paths": [], "\u{1b}[31m": 3 }),
            expect!["unknown argument `\\u{1b}[31m` | the arguments are `max_count`, `paths`"],
        );
        check(
            json!({ "paths": [], "max_count": "three" }),
            expect![[
                r#"argument `max_count`: invalid type: string "three", expected u32 (How many commits.) | "#
            ]],
        );
        check(
            json!({ "paths": ["a", 7] }),
            expect!["argument `paths[1]`: invalid type: integer `7`, expected a string (Where.) | "],
        );
        check(json!({}), expect!["arguments: missing field `paths` | "]);
    }
}
