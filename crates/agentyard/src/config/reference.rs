//! The generated reference: every key, every variable.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::ConfigError;
use super::aliases::{ALIASES, Alias, Effect, OWN};
use super::keys::{self, variable_of};
use super::schema::{self, Described};

const INTRODUCTION: &str = "\
# Configuration

Generated from the settings; do not edit.

Every setting has a key, such as `http.listen`. Its value is looked for, the strongest first:

1. on the command line: a flag of its own, or `--set http.listen=127.0.0.1:8000`;
2. in the environment: `AGENTYARD_HTTP_LISTEN`, or one of the other variables below; lists are separated by commas,
   and a variable that is set to nothing counts as not set;
3. in the file that `--config` or `AGENTYARD_CONFIG` names; without one, in
   `$XDG_CONFIG_HOME/agentyard/agentyard.toml` (else `~/.config/agentyard/agentyard.toml`), then in
   `/etc/agentyard/agentyard.toml`. A file in the current directory is never read;
4. in the table below.

In a file, `http.listen` is `listen` in the section `[http]`. Relative paths in a file begin at that file, and `~/` is
the home directory. An unknown key is an error. `agentyard config show` prints every value and where it came from.
";

/// How a table of keys begins.
const COLUMNS: &str = "\n| Key | Value | Default | Variable | Meaning |\n|---|---|---|---|---|\n";

/// The reference of some settings. Defaults that depend on the machine are told in words.
pub(crate) fn markdown<T>(computed: &[(&str, &str)]) -> Result<String, ConfigError>
where
    T: Default + Serialize + JsonSchema,
{
    let defaults: BTreeMap<String, Value> = keys::values(&T::default())?.into_iter().collect();
    let mut text = INTRODUCTION.to_owned();
    let described = schema::describe::<T>();
    if described.first().is_some_and(|first| first.kind.is_some()) {
        text.push_str("\n## In no section\n");
        text.push_str(COLUMNS);
    }
    for described in described {
        match &described.kind {
            None => heading(&mut text, &described),
            Some(kind) => {
                let words = computed.iter().find(|(key, _)| *key == described.key);
                let default = words.map_or_else(
                    || default_of(&defaults, &described.key),
                    |(_, words)| (*words).to_owned(),
                );
                let variable = variable_of(&described.key);
                let Described { key, description, .. } = described;
                row(
                    &mut text,
                    &[
                        &format!("`{key}`"),
                        kind,
                        &default,
                        &format!("`{variable}`"),
                        &description,
                    ],
                );
            }
        }
    }
    text.push_str("\n## Other variables\n\n| Variable | What it does |\n|---|---|\n");
    for alias in OWN.iter().chain(ALIASES) {
        row(&mut text, &[&format!("`{}`", alias.name), &effect(alias)]);
    }
    Ok(text)
}

fn heading(text: &mut String, described: &Described) {
    let Described { key, description, .. } = described;
    // Writing to a string cannot fail.
    let _ = write!(text, "\n## `[{key}]`\n\n{description}\n{COLUMNS}");
}

fn row(text: &mut String, cells: &[&str]) {
    for cell in cells {
        text.push_str("| ");
        text.push_str(&cell.replace('|', "\\|"));
        text.push(' ');
    }
    text.push_str("|\n");
}

fn default_of(defaults: &BTreeMap<String, Value>, key: &str) -> String {
    match defaults.get(key) {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::Array(items)) if items.is_empty() => "none".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(value) => format!("`{value}`"),
    }
}

fn effect(alias: &Alias) -> String {
    match alias.effect {
        Effect::Sets(key) => format!("sets `{key}`"),
        Effect::Converts(key, _, how) => format!("sets `{key}`, {how}"),
        Effect::SetsOneOf(key, values) => {
            format!(
                "sets `{key}` when it is `{}`; ignored otherwise",
                values.join("`, `")
            )
        }
        Effect::ListenHost => "sets the address in `http.listen`".to_owned(),
        Effect::ListenPort => "sets the port in `http.listen`".to_owned(),
        Effect::Read(what) => what.to_owned(),
        Effect::Nothing(why) => format!("accepted; no effect: {why}"),
    }
}
