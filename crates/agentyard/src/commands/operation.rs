//! Every operation as a command: `agentyard <noun> <verb>`, made from the registry.

use std::ffi::OsString;

use agentyard_model::Toolset;
use agentyard_operations::{Entry, Registered, arguments_from_texts, registry};
use agentyard_services::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use super::typed_secrets::is_secret;

/// A call that was typed.
pub(crate) struct Typed {
    pub(crate) operation: &'static Registered,
    pub(crate) arguments: Map<String, Value>,
}

/// Adds the commands of all operations to those that the binary has of its own. Only
/// the one that was typed gets its arguments: making them all would cost every start.
pub(crate) fn add_commands(mut program: Command, typed: &[OsString]) -> Command {
    for operation in registry().iter() {
        let (noun, verb) = operation.entry().command();
        let wanted = typed.iter().any(|word| word == noun);
        program = match verb {
            None => program.subcommand(leaf(noun, operation, wanted)),
            Some(verb) => {
                let verb = leaf(&verb.replace('_', "-"), operation, wanted);
                if program.find_subcommand(noun).is_some() {
                    program.mut_subcommand(noun, |group| group.subcommand(verb))
                } else {
                    program.subcommand(group(noun).subcommand(verb))
                }
            }
        };
    }
    program
}

/// The operation that was typed, if it was one.
pub(crate) fn find(matches: &ArgMatches) -> Option<Result<Typed>> {
    let (noun, inner) = matches.subcommand()?;
    let verb = inner.subcommand();
    let operation = registry().iter().find(|operation| {
        let (its_noun, its_verb) = operation.entry().command();
        its_noun == noun
            && its_verb.map(|verb| verb.replace('_', "-")) == verb.map(|(name, _)| name.to_owned())
    })?;
    let given = verb.map_or(inner, |(_, matches)| matches);
    Some(arguments(operation, given).map(|arguments| Typed { operation, arguments }))
}

fn group(noun: &'static str) -> Command {
    let about = match noun {
        "code" => "Write and read files that hold code",
        "exec" => "Run Python code, and look after its environment",
        "execution" => "What was executed",
        "file" => "Read and change files",
        "git" => "Look at repositories and change them",
        "repo" => "Repositories that workspaces are made of",
        "sandbox" => "Small machines that stay for a while, on a server, and git in them",
        "workspace" => "Branches in working trees of their own",
        "secret" => "Secrets that executions can be granted",
        "token" => "Make, list and revoke tokens",
        "run" => "Run commands in working trees",
        "audit" => "Search and verify the audit log",
        _ => noun,
    };
    Command::new(noun)
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true)
}

fn leaf(name: &str, operation: &'static Registered, wanted: bool) -> Command {
    let description = operation.description();
    let (about, _) = description
        .split_once(". ")
        .unwrap_or((description.trim_end_matches('.'), ""));
    let command = Command::new(name.to_owned())
        .about(about.to_owned())
        .long_about(description);
    if wanted {
        command.args(arguments_of(operation))
    } else {
        command
    }
}

fn arguments_of(operation: &'static Registered) -> impl Iterator<Item = Arg> {
    operation.properties().iter().map(|(name, schema)| {
        if operation.entry().words == Some(name) {
            words(name, schema)
        } else {
            let toolset = operation.entry().toolset;
            // `agentyard workspace close wsp_…`: what a command is about needs no name.
            let is_subject = name == "workspace" && toolset == Toolset::Workspace;
            // A secret that is not typed is read from standard input.
            let required = operation.requires(name) && !is_secret(schema);
            let argument = argument(name, schema, required, is_subject);
            if name == "path" && toolset == Toolset::Git {
                argument.visible_alias("workspace")
            } else {
                argument
            }
        }
    })
}

/// The list that needs no name: `agentyard make all`, `agentyard run command -- ls -l`.
fn words(name: &str, schema: &'static Value) -> Arg {
    let described = schema.get("description").and_then(Value::as_str);
    Arg::new(name.to_owned())
        .help(described.unwrap_or_default().trim_end_matches('.').to_owned())
        .num_args(0..)
        .action(ArgAction::Append)
}

/// An argument that must be given, or that the command is about, stands by itself; all others have their names.
fn argument(name: &str, schema: &'static Value, required: bool, is_subject: bool) -> Arg {
    let of_type = schema.get("type").and_then(Value::as_str).unwrap_or("string");
    let mut argument = Arg::new(name.to_owned()).required(required);
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        argument = argument.help(text.trim_end_matches('.').to_owned());
    }
    if !required && !is_subject {
        argument = argument.long(name.replace('_', "-"));
    }
    let choices = |schema: &'static Value| {
        let values = schema.get("enum").and_then(Value::as_array)?;
        Some(
            values
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<&'static str>>(),
        )
    };
    match of_type {
        "boolean" => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(["true", "false"])
            .hide_possible_values(true)
            .value_name("BOOL"),
        "integer" | "number" => argument.value_name("N").allow_negative_numbers(true),
        "array" => {
            let argument = argument.action(ArgAction::Append);
            match schema.get("items").and_then(choices) {
                Some(values) => argument.value_parser(values),
                None => argument,
            }
        }
        _ => match choices(schema) {
            Some(values) => argument.value_parser(values),
            None => argument,
        },
    }
}

fn arguments(operation: &'static Registered, given: &ArgMatches) -> Result<Map<String, Value>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for name in operation.properties().keys() {
        if let Ok(Some(values)) = given.try_get_many::<String>(name) {
            pairs.extend(values.map(|value| (name.as_str(), value.as_str())));
        }
    }
    arguments_from_texts(operation, pairs)
}

/// The argument that names a directory, which on a command line is relative to where
/// one stands. Where a workspace can be named, `path` is one inside it.
pub(crate) fn path_argument(entry: &Entry) -> Option<&'static str> {
    let operation = registry().find(entry.name)?;
    ["workspace", "path"]
        .into_iter()
        .find(|name| operation.properties().contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_commands_says_what_it_is_for() {
        for operation in registry().iter() {
            let (noun, verb) = operation.entry().command();
            if verb.is_some() {
                let about = group(noun).get_about().unwrap().to_string();
                assert_ne!(about, noun, "`agentyard {noun}` is not described");
            }
        }
    }
}
